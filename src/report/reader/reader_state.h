/* An open report, as the files of the reader share it. Files outside the reader must not include this. */
#ifndef TACHO_REPORT_READER_READER_STATE_H
#define TACHO_REPORT_READER_READER_STATE_H

#include <pthread.h>
#include <stdatomic.h>

#include "base/arena.h"
#include "base/intern.h"
#include "reader.h"
#include "report/format/decode.h"
#include "report/format/format.h"
#include "report_part.h"

/* A chunk as found when the file was opened. If the file has an index, the chunk itself has not been read yet. */
struct reader_found_chunk {
    uint64_t offset;
    uint32_t size; /* header and payload */
    struct chunk_header header;
};

/* A table as one schema chunk defines it. Columns are matched to those of the table by name, so a file may hold
 * several generations of a table. */
struct reader_definition {
    uint16_t id;
    struct reader_table *table;
    size_t column_count;
    int *table_column; /* by column of the definition; -1: unusable */
    int time_column;   /* the first TIME column, or -1 */
};

struct reader_chunk {
    uint64_t offset;
    uint32_t size, rows;
    const struct reader_definition *definition;
    int64_t first, last;
    uint64_t first_row;
    _Atomic int damaged;                        /* known to be damaged, so that it is counted once */
    const struct reader_part_table *part_table; /* in a set: what it is of; NULL for the set's own strings */
    struct reader_chunk *part_chunk;            /* of that part; in a window: the whole chunk, if rows are left out */
    int is_of_offsets;                          /* in a set: rows of TACHO_CLOCK_OFFSET, which are made up */
};

struct reader_table {
    struct report_table public;
    struct report_column *columns;
    size_t column_capacity;
    struct reader_chunk *chunks;
    size_t chunk_count, chunk_capacity;
    int has_time;
    struct report_span window;     /* of a window's table: rows that begin outside of it are left out */
    enum column_meaning *meanings; /* of a set's table, by column */
    _Atomic int is_read;           /* rows of it were asked for */
};

/* The strings of one chunk. */
struct reader_string_block {
    uint32_t *offsets; /* of each string, which a NUL follows */
    char *bytes;
};
struct reader_string_chunk {
    struct reader_chunk *chunk;
    int64_t first, last;
    _Atomic(struct reader_string_block *) block; /* NULL: not decoded yet */
};

/* The state that one thread needs to decode chunks; kept between scans. */
struct reader_scratch {
    struct reader_scratch *next;
    struct decode_scratch decode;
    uint8_t *chunk;                       /* header and payload */
    size_t chunk_capacity;
    struct decode_column views[TABLE_MAX_COLUMNS];
    size_t column_capacity, row_capacity; /* of values and nulls */
    int64_t **values;
    uint64_t **nulls;
    int64_t *choice_values; /* of a whole chunk, which some rows are chosen of; NULL until one is decoded */
    uint64_t *choice_bits;
};

/* A report in a set. */
struct reader_part {
    struct report *report;
    struct report_part public;
    uint64_t number;
    int64_t host_id, name_id, clock_id; /* of the set's strings; 0: unknown */
    uint32_t **string_ids;              /* by chunk of strings and row: the id in the set */
};

enum set_string_state { SET_STRINGS_NOT_MADE, SET_STRINGS_MADE };

/* How the rows of a part's table become rows of the set's. */
enum { PART_HAS_NOT = -1, PART_RANK = -2, PART_HOST = -3 };
enum row_rank_source {
    ROW_RANK_NOWHERE,
    ROW_RANK_OWN,     /* a column of the rank itself */
    ROW_RANK_PROCESS, /* a packed id */
    ROW_RANK_PID,
};
struct reader_part_table {
    struct reader_part *part;
    enum row_rank_source rank_source;    /* how rows of a part of several ranks tell theirs */
    int rank_column;                     /* of the part's table */
    int is_of_processes;                 /* each row is of one: a row without a rank is of none of the job's */
    size_t column_count;                 /* of the set's table */
    const enum column_meaning *meanings; /* by column of the set's table */
    int *columns;                        /* by column of the set's table: that of the part's, or one of the above */
};

struct report {
    struct report_host host;
    void (*host_delete)(void *context); /* NULL: the caller owns the host */
    struct arena arena;
    struct reader_table **tables;       /* each in the arena, so that pointers to it stay valid */
    size_t table_count, table_capacity;
    struct intern table_names;          /* borrowed from them; a number is an index of tables */
    struct reader_definition **definitions;
    size_t definition_count, definition_capacity;
    struct reader_found_chunk *found;   /* in file order */
    size_t found_count, found_capacity;
    size_t schema_bytes;                /* bytes of definitions read so far */
    uint64_t schema_hash;               /* of the first schema chunk; 0: none was read */
    int has_index, complete, recovered;
    int is_window;                      /* rows are left out: those that begin outside of the span of their table */
    uint64_t cut_bytes;
    _Atomic uint64_t damaged_chunks, damaged_bytes;

    pthread_mutex_t lock;                      /* guards everything below, except reads of decoded strings */
    struct reader_scratch *scratches;
    struct reader_string_chunk *string_chunks; /* by first id */
    size_t string_chunk_count;
    size_t string_misses;
    struct intern string_index;                /* built by the first search for a string */
    int64_t *string_index_ids;
    int string_index_made, strings_repeat;

    struct reader_part *parts; /* of a set; NULL: this is a file */
    struct report *lender;     /* the set whose parts they are, and which closes them; NULL: they are the set's own */
    size_t part_count;
    pthread_mutex_t set_lock;  /* guards the making of the set's strings */
    _Atomic int string_state;  /* enum set_string_state, or the error that stopped the making */
    struct intern set_strings; /* constant once made */
    struct reader_table *string_table, *offset_table;
};

/* find_chunks.c: fills found, from the index or by scanning. */
int report_find_chunks(struct report *report, struct error *err);

/* table_definitions.c: fills definitions and tables from the chunks found. */
int report_make_tables(struct report *report, struct error *err);
/* Adds an empty table; its name must live as long as the report, which has none of that name. NULL if out of
 * memory. */
struct reader_table *reader_table_add(struct report *report, const char *name);
/* NULL: there is no table of that name. */
struct reader_table *reader_table_find(const struct report *report, const char *name, size_t length);

/* strings.c */
int report_make_strings(struct report *report, struct error *err);
void report_free_strings(struct report *report);
/* Frees all that was decoded; it is decoded again when it is needed. */
void reader_forget_strings(struct report *report);
/* The strings of a chunk, decoded if necessary; NULL on damage. */
struct reader_string_block *reader_string_block(struct report *report, struct reader_string_chunk *strings);
/* The chunk that may contain this id, or NULL. */
struct reader_string_chunk *reader_string_chunk(struct report *report, int64_t id);

/* unite.c: a table of a set by its name, which is made if it is missing, and a column of it. */
struct reader_table *set_add_table(struct report *set, const char *name);
int set_add_column(struct reader_table *table, const char *name, enum column_type type);

/* set_strings.c: unites the strings of a set's parts when they are first needed. */
int set_strings_make(struct report *set, struct error *err);
int set_strings_needed(struct report *set, const struct report_table *table, const int *columns, size_t count,
                       struct error *err);
const char *set_string(struct report *set, int64_t id, size_t *length);
int64_t set_find_string(struct report *set, const char *bytes, size_t length);
void set_strings_free(struct report *set);

/* clock_offsets.c: the table of the clock maps of a set's parts. Columns come all NULL. */
int clock_offsets_add_columns(struct report *set);
int clock_offsets_add_rows(struct report *set);
void clock_offsets_decode(const struct report *set, const struct reader_chunk *chunk, const char *column,
                          int64_t *values, uint64_t *nulls, int *has_nulls);

/* part_map.c: turns decoded values of a part into those of the set. */
void part_map_column(const struct reader_part_table *table, int column, enum column_type type, int64_t *values,
                     size_t rows);
/* row_ranks.c: where the rows of a part's table have their rank. */
void row_ranks_find(struct reader_part_table *map, const struct report_table *from);
/* Turns the values of the rank's column into ranks, and says which of them are NULL. */
void row_ranks_map(const struct reader_part_table *map, int64_t *values, uint64_t *nulls, int has_nulls, size_t rows);
/* Whether rows are left out. */
int row_ranks_filter(const struct reader_part_table *map);
/* Turns the bits that say which ranks are NULL into those that say which rows are kept; how many are. */
size_t row_ranks_choose(const struct reader_part_table *map, const int64_t *ranks, uint64_t *nulls_to_kept,
                        size_t rows);
/* Closes the gaps of rows that are left out, in one column. */
void row_ranks_keep(const uint64_t *kept, size_t rows, int64_t *values, uint64_t *nulls);

/* A column that says which part it is: PART_RANK or PART_HOST. */
void part_fill_column(const struct reader_part *part, int what, int64_t *values, int *has_nulls, size_t rows);

/* scan.c: scratch memory from the report's free list; NULL if out of memory. */
struct reader_scratch *reader_scratch_take(struct report *report);
void reader_scratch_give(struct report *report, struct reader_scratch *scratch);
/* All that are not in use. */
void reader_scratches_delete(struct report *report);
/* Reads a chunk into the scratch memory, checks its header against the one found at opening, and returns its payload.
 * NULL on damage, which is counted. */
const uint8_t *reader_chunk_read(struct report *report, struct reader_chunk *chunk, struct reader_scratch *scratch,
                                 size_t *size);
/* The same for the bytes at an offset: 0, ERR_IO, ERR_NO_MEMORY or ERR_CORRUPT. */
int reader_chunk_read_at(struct report *report, uint64_t offset, uint32_t size, struct reader_scratch *scratch,
                         struct chunk_header *header);
void reader_chunk_damaged(struct report *report, struct reader_chunk *chunk);
/* The rows of a chunk that begin in the window of its table; -1 if it cannot be read. */
int64_t reader_window_rows(struct report *report, struct reader_chunk *whole);
/* The rows of a part's chunk that are kept; -1 if it cannot be read. */
int64_t reader_kept_rows(const struct reader_part_table *map, struct reader_chunk *chunk);

#endif
