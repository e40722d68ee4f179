/* An open report, as the files of the reader share it. No other file includes this. */
#ifndef TACHO_REPORT_READER_READER_STATE_H
#define TACHO_REPORT_READER_READER_STATE_H

#include <pthread.h>
#include <stdatomic.h>

#include "base/arena.h"
#include "base/intern.h"
#include "reader.h"
#include "report/format/decode.h"
#include "report/format/format.h"

/* A chunk as opening found it. If the file has an index, nothing of the chunk itself has been read yet. */
struct found_chunk {
    uint64_t offset;
    uint32_t size; /* header and payload */
    struct chunk_header header;
};

/* A table as one schema chunk defines it. Its columns are found in the table by name, so a file may hold several
 * generations of a table. */
struct definition {
    uint16_t id;
    struct table_state *table;
    size_t column_count;
    int *table_column; /* by column of the definition; -1: not usable */
    int time_column;   /* the first TIME column, or -1 */
};

struct chunk {
    uint64_t offset;
    uint32_t size, rows;
    const struct definition *definition;
    int64_t first, last;
    uint64_t first_row;
    _Atomic int damaged; /* seen to be, so that it is counted once */
};

struct table_state {
    struct report_table public;
    struct report_column *columns;
    size_t column_capacity;
    struct chunk *chunks;
    size_t chunk_count, chunk_capacity;
    int has_time;
};

/* The strings of one chunk. */
struct string_block {
    uint32_t *offsets; /* each string and a NUL */
    char *bytes;
};
struct string_chunk {
    struct chunk *chunk;
    int64_t first, last;
    _Atomic(struct string_block *) block; /* NULL: not decoded yet */
};

/* The state that one thread needs to decode chunks; kept between scans. */
struct scratch {
    struct scratch *next;
    struct decode_scratch decode;
    uint8_t *chunk;                       /* header and payload */
    size_t chunk_capacity;
    struct column_view views[TABLE_MAX_COLUMNS];
    size_t column_capacity, row_capacity; /* of values and nulls */
    int64_t **values;
    uint64_t **nulls;
};

struct report {
    struct report_host host;
    void (*host_delete)(void *context); /* NULL: the caller's */
    struct arena arena;
    struct table_state **tables;        /* each in the arena, so that pointers to it stay */
    size_t table_count, table_capacity;
    struct definition **definitions;
    size_t definition_count, definition_capacity;
    struct found_chunk *found; /* in the file's order */
    size_t found_count, found_capacity;
    size_t schema_bytes;       /* of definitions read */
    int has_index, complete, recovered;
    uint64_t cut_bytes;
    _Atomic uint64_t damaged_chunks, damaged_bytes;

    pthread_mutex_t lock;               /* guards all below, but for reading decoded strings */
    struct scratch *scratches;
    struct string_chunk *string_chunks; /* by first id */
    size_t string_chunk_count;
    size_t string_misses;
    struct intern string_index;         /* made when first asked to find a string */
    int64_t *string_index_ids;
    int string_index_made, strings_repeat;
};

/* find_chunks.c: fills found, from the index or by scanning. */
int report_find_chunks(struct report *report, struct error *err);

/* table_definitions.c: fills definitions and tables from what was found. */
int report_make_tables(struct report *report, struct error *err);

/* strings.c */
int report_make_strings(struct report *report, struct error *err);
void report_free_strings(struct report *report);

/* scan.c: scratch from the report's store, NULL when memory is short; a chunk read and checked into it. */
struct scratch *scratch_take(struct report *report);
void scratch_give(struct report *report, struct scratch *scratch);
void scratch_delete(struct scratch *scratch);
/* The chunk's payload, header compared with what opening found; counts damage. */
const uint8_t *chunk_read(struct report *report, struct chunk *chunk, struct scratch *scratch, size_t *size);
/* The same for bytes at a place: 0, ERR_IO, ERR_NO_MEMORY or ERR_CORRUPT. */
int chunk_read_at(struct report *report, uint64_t offset, uint32_t size, struct scratch *scratch,
                  struct chunk_header *header);
void chunk_damaged(struct report *report, struct chunk *chunk);

#endif
