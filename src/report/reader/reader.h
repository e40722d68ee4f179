/* Reading a report: open it, look up tables and columns by name, decode only the columns that are needed.
 *
 * The reader trusts no byte of the file. Its host provides reading, decompression and parallel loops, so that the
 * same code serves the command line, the server and a page. A file without an index (still growing, or its writer
 * was killed) is scanned, and everything up to the first damaged byte is readable; damaged chunks are skipped and
 * counted. */
#ifndef TACHO_REPORT_READER_READER_H
#define TACHO_REPORT_READER_READER_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "report/format/report_host.h"
#include "report/schema/columns.h"

struct report;

/* Opens a file with the default host: pread, zstd, a pool of threads. */
int report_open(const char *path, struct report **out, struct error *err);
int report_open_host(const struct report_host *host, struct report **out, struct error *err);
void report_close(struct report *report);

/* Whether a file begins as reports do. */
int report_recognise(const char *path);

/* The state of the file as it was found when it was opened, and damage that was met since. */
struct report_health {
    int has_index;           /* 0: the file was scanned */
    int complete;            /* the writer closed the file properly */
    int recovered;           /* made by report_recover() (recover.h) from one that was damaged or unfinished */
    uint64_t damaged_chunks; /* skipped */
    uint64_t damaged_bytes;
    uint64_t cut_bytes;      /* at the end: an incomplete chunk */
    uint64_t file_bytes;
};
struct report_health report_health(const struct report *report);

/* Reads every chunk and checks its hash, so that report_health() reports all damage. */
void report_check(struct report *report);

/* Tables, by their names in the file. */
struct report_column {
    const char *name;
    enum column_type type;
};
struct report_table {
    const char *name;
    const struct report_column *columns;
    size_t column_count;
    uint64_t rows;
    uint64_t packed_bytes;     /* in the file */
    int64_t first_ns, last_ns; /* span of the rows' times; first > last if there are none */
};
size_t report_table_count(const struct report *report);
const struct report_table *report_table_at(const struct report *report, size_t index);
/* NULL if the file has no such table. To every analysis, a table without rows is the same as none. */
const struct report_table *report_table(const struct report *report, const char *name);
/* The rows of a table; 0 if the file has no such table. */
uint64_t report_rows(const struct report *report, const char *name);
/* Whether rows of the table were asked for since the report was opened: what an answer is made of. */
int report_was_read(const struct report_table *table);
/* Says so of a table that was read elsewhere: by another process, or in a choice of parts. */
void report_mark_read(struct report *report, const char *table);
/* -1 if the table has no such column. */
int report_column(const struct report_table *table, const char *name);

/* Decoded values of some columns for a run of rows. values[c] belongs to the c-th requested column; a REAL is stored
 * as its bits. nulls[c] is NULL if no row is NULL, else bit r%64 of word r/64 says whether row r is. A column that the
 * file lacks (index -1) is all NULL, so that analyses need no special case for old files. */
struct report_block {
    uint64_t first_row; /* of the table */
    size_t rows;
    const int64_t *const *values;
    const uint64_t *const *nulls;
    int64_t first_ns, last_ns; /* of the chunk that this block comes from */
};
static inline int block_is_null(const struct report_block *block, size_t column, size_t row)
{
    return block->nulls[column] && (block->nulls[column][row / 64] >> (row % 64) & 1);
}
static inline double block_real(const struct report_block *block, size_t column, size_t row)
{
    union {
        int64_t bits;
        double real;
    } value = { .bits = block->values[column][row] };
    return value.real;
}

/* Chunks wholly outside of it are skipped; rows inside a chunk are not filtered. */
struct report_span {
    int64_t from_ns, to_ns;
};
/* The first and the last time in the report, but for messages of the profiler; from > to if there are none. */
struct report_span report_times(const struct report *report);

/* Calls visit for each chunk of the table, in parallel and in any order; `worker` is below report_workers(), and
 * `block` is valid during the call only. A visit that returns non-zero ends the scan with that code. All functions
 * that read rows return ERR_CANCELLED when their thread is cancelled (base/cancel.h). */
int report_scan(struct report *report, const struct report_table *table, const int *columns, size_t column_count,
                const struct report_span *span,
                int (*visit)(void *context, int worker, const struct report_block *block), void *context,
                struct error *err);
int report_workers(const struct report *report);
/* Runs the caller's own work on the host's workers: body(argument, worker, i) for each i below count. */
void report_parallel_for(const struct report *report, size_t count, void (*body)(void *argument, int worker, size_t i),
                         void *argument);

/* The same for the chunks that contain any of the rows first_row to first_row + row_count - 1. */
int report_scan_rows(struct report *report, const struct report_table *table, const int *columns, size_t column_count,
                     uint64_t first_row, uint64_t row_count,
                     int (*visit)(void *context, int worker, const struct report_block *block), void *context,
                     struct error *err);

/* The chunks of a table in row order, as far as they are known without reading them. */
struct report_chunk {
    uint64_t first_row;
    size_t rows;
    int64_t first_ns, last_ns; /* span of the rows' times; first > last if there are none */
};
size_t report_chunk_count(const struct report_table *table);
struct report_chunk report_chunk_at(const struct report_table *table, size_t index);

/* Decodes whole columns, in row order and in parallel. Rows of damaged chunks are left out, so there may be fewer
 * rows than the table has. Free with report_columns_free(). */
struct report_columns {
    size_t rows;
    size_t column_count;
    int64_t **values;
    uint64_t **nulls; /* an entry is NULL if no row of the column is */
};
int report_read(struct report *report, const struct report_table *table, const int *columns, size_t column_count,
                struct report_columns *out, struct error *err);
void report_columns_free(struct report_columns *columns);
static inline int columns_is_null(const struct report_columns *columns, size_t column, size_t row)
{
    return columns->nulls[column] && (columns->nulls[column][row / 64] >> (row % 64) & 1);
}

/* A string of the pool; "" (never NULL) for an id that does not exist. A NUL follows it that length (which may be
 * NULL) does not count. The string is valid while the report is open. Any thread may call this, also from inside a
 * visit. */
const char *report_string(struct report *report, int64_t id, size_t *length);
/* The id of these bytes, or -1. A long capture may have given a text several ids (string_pool.h); the result is then
 * the first of them. The first search finds out whether strings repeat. */
int64_t report_find_string(struct report *report, const char *bytes, size_t length);
int report_strings_repeat(struct report *report);
/* Whether it is certain that no two ids have the same text; of a set it never is. Reads all strings. */
int report_strings_differ(struct report *report);

#endif
