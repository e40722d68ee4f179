/* Reading small tables. */
#include "small_tables.h"

#include <string.h>

int small_tables_read(struct rows *rows, struct report *report, const char *table_name, const char *const *names,
                      struct error *err)
{
    const struct report_table *table = report_table(report, table_name);
    int columns[64];
    size_t count = 0;

    *rows = (struct rows){ .report = report };
    if (!table || !table->rows)
        return 0;
    for (; names[count] && count < 64; count++)
        columns[count] = report_column(table, names[count]);
    return report_read(report, table, columns, count, &rows->columns, err);
}

void small_tables_free(struct rows *rows)
{
    if (rows->columns.values)
        report_columns_free(&rows->columns);
}

int small_tables_is_null(const struct rows *rows, size_t row, size_t column)
{
    const uint64_t *nulls = rows->columns.nulls[column];

    return nulls && (nulls[row / 64] >> (row % 64) & 1);
}

int64_t small_tables_number(const struct rows *rows, size_t row, size_t column, int64_t fallback)
{
    return small_tables_is_null(rows, row, column) ? fallback : rows->columns.values[column][row];
}

const char *small_tables_text(const struct rows *rows, size_t row, size_t column, size_t *length)
{
    size_t ignored;

    if (!length)
        length = &ignored;
    *length = 0;
    return small_tables_is_null(rows, row, column)
               ? ""
               : report_string(rows->report, rows->columns.values[column][row], length);
}
