/* Opens and closes cursors over the rows of a table: see row_cursor.h. */
#include "row_cursor.h"

#include "event_columns.h"

int row_cursor_open(struct row_cursor *cursor, struct report *report, const char *table, const char *const *names,
                    struct error *err)
{
    size_t count = 0;

    while (names[count])
        count++;
    *cursor = (struct row_cursor){ 0 };
    return columns_read(report, table, names, count, &cursor->columns, err);
}

void row_cursor_close(struct row_cursor *cursor)
{
    report_columns_free(&cursor->columns);
    *cursor = (struct row_cursor){ 0 };
}
