/* Rows that a later row about the same object replaces: a report has a row of a process or a thread when it begins and
 * another when it ends (schema_last_row_key()). Exports have the last one alone. */
#ifndef TACHO_EXPORT_LAST_ROWS_H
#define TACHO_EXPORT_LAST_ROWS_H

#include "report/reader/reader.h"

struct last_rows {
    uint64_t *replaced; /* rows of the table, ascending; owned */
    size_t count;
    size_t at;          /* the first that was not passed yet */
};

/* Finds the replaced rows of a table; most tables have none. */
int last_rows_find(struct report *report, const struct report_table *table, struct last_rows *out, struct error *err);
/* Whether this row is replaced. Callers ask in ascending order, so that most rows cost one comparison. */
static inline int last_rows_is_replaced(struct last_rows *rows, uint64_t row)
{
    while (rows->at < rows->count && rows->replaced[rows->at] < row)
        rows->at++;
    return rows->at < rows->count && rows->replaced[rows->at] == row;
}
void last_rows_free(struct last_rows *rows);

#endif
