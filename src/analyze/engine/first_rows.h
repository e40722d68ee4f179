/* The first rows of a table in order of time, for a trace of which only these are wanted: one scan of the columns that
 * decide finds them and counts the others, a second one reads their other columns from the few chunks that hold them.
 *
 *     struct first_rows first;
 *     int code = first_rows_find(&first, report, table, &(struct first_rows_wish){ … }, err);
 *
 *     if (code != 0)
 *         return code;
 *     code = first_rows_read(&first, report, table, columns, count, &rows, err);
 *     first_rows_free(&first);
 */
#ifndef TACHO_ANALYZE_ENGINE_FIRST_ROWS_H
#define TACHO_ANALYZE_ENGINE_FIRST_ROWS_H

#include "base/error.h"
#include "report/reader/reader.h"

/* The input of the scan. `columns` are indices into the table; the first one is the time. passes() gets a row of a
 * block with these columns, and runs on several threads at once; NULL: every row passes. */
struct first_rows_wish {
    const int *columns;
    size_t column_count;
    size_t most; /* rows that are wanted */
    int (*passes)(const void *context, const struct report_block *block, size_t row);
    const void *context;
};

struct first_rows {
    uint64_t *rows; /* owned; of the table, rising */
    size_t count;
    uint64_t total; /* rows that pass, with those that are not among the first */
};

int first_rows_find(struct first_rows *first, struct report *report, const struct report_table *table,
                    const struct first_rows_wish *wish, struct error *err);
/* The values of these rows, as report_read() gives those of all. ERR_CORRUPT if other columns of a chunk are damaged
 * than those that were scanned: report_read() leaves out the whole chunk, so the first rows are others. */
int first_rows_read(const struct first_rows *first, struct report *report, const struct report_table *table,
                    const int *columns, size_t column_count, struct report_columns *out, struct error *err);
/* Safe for a struct that is all zero, and after an error. */
void first_rows_free(struct first_rows *first);

#endif
