/* Reads small tables whole. */
#include "small_table.h"

#include "analyze/engine/event_columns.h"

int small_table_read(struct small_table *rows, struct report *report, const char *table, const char *const *names,
                     struct error *err)
{
    size_t count = 0;

    while (names[count])
        count++;
    *rows = (struct small_table){ .report = report };
    return columns_read(report, table, names, count, &rows->columns, err);
}

void small_table_free(struct small_table *rows)
{
    report_columns_free(&rows->columns);
}

int small_table_is_null(const struct small_table *rows, size_t row, size_t column)
{
    return columns_is_null(&rows->columns, column, row);
}

int64_t small_table_number(const struct small_table *rows, size_t row, size_t column, int64_t fallback)
{
    return small_table_is_null(rows, row, column) ? fallback : rows->columns.values[column][row];
}

const char *small_table_text(const struct small_table *rows, size_t row, size_t column, size_t *length)
{
    size_t ignored;

    if (!length)
        length = &ignored;
    *length = 0;
    return small_table_is_null(rows, row, column)
               ? ""
               : report_string(rows->report, rows->columns.values[column][row], length);
}
