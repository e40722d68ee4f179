/* A small table of a report, read whole by the names of its columns, for commands that print its rows in any order. */
#ifndef TACHO_CMD_SMALL_TABLE_H
#define TACHO_CMD_SMALL_TABLE_H

#include "report/reader/reader.h"

struct small_table {
    struct report *report;
    struct report_columns columns;
};

/* names ends with NULL; column c of the result is names[c]. A table that is not there has no rows. After an error there
 * is nothing to free. */
int small_table_read(struct small_table *rows, struct report *report, const char *table, const char *const *names,
                     struct error *err);
void small_table_free(struct small_table *rows);

int small_table_is_null(const struct small_table *rows, size_t row, size_t column);
/* The number, or fallback for NULL. */
int64_t small_table_number(const struct small_table *rows, size_t row, size_t column, int64_t fallback);
/* The text of a TEXT or STRING column; "" for NULL. Never NULL; ends with a NUL. */
const char *small_table_text(const struct small_table *rows, size_t row, size_t column, size_t *length);

#endif
