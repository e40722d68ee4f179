/* Small tables of a report, read whole by the names of their columns. */
#ifndef TACHO_CMD_SMALL_TABLES_H
#define TACHO_CMD_SMALL_TABLES_H

#include "report/reader/reader.h"

struct rows {
    struct report *report;
    struct report_columns columns;
};

/* names ends with NULL; column c of the result is names[c]. A table that is not there has no rows. */
int small_tables_read(struct rows *rows, struct report *report, const char *table, const char *const *names,
                      struct error *err);
void small_tables_free(struct rows *rows);

int small_tables_is_null(const struct rows *rows, size_t row, size_t column);
/* The number, or fallback for NULL. */
int64_t small_tables_number(const struct rows *rows, size_t row, size_t column, int64_t fallback);
/* The text of a TEXT or STRING column; "" for NULL. Never NULL; ends with a NUL. */
const char *small_tables_text(const struct rows *rows, size_t row, size_t column, size_t *length);

#endif
