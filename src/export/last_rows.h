/* Rows that a later row about the same object replaces: a report has a row of a process or a thread when it begins and
 * another when it ends (schema_last_row_key()). Exports have the last one alone. */
#ifndef TACHO_EXPORT_LAST_ROWS_H
#define TACHO_EXPORT_LAST_ROWS_H

#include "report/reader/reader.h"

struct last_rows {
    uint64_t *replaced; /* rows of the table, ascending; owned */
    size_t count;
};

/* Finds the replaced rows of a table; most tables have none. */
int last_rows_find(struct report *report, const struct report_table *table, struct last_rows *out, struct error *err);
int last_rows_is_replaced(const struct last_rows *rows, uint64_t row);
void last_rows_free(struct last_rows *rows);

#endif
