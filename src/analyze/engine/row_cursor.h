/* A cursor over the rows of a table: reads the columns that an analysis needs and walks them from the first row to the
 * last.
 *
 *     static const char *const names[] = { "globalTid", "start", NULL };
 *     struct row_cursor rows;
 *     int code = row_cursor_open(&rows, report, "TACHO_THREAD", names, err);
 *
 *     if (code != 0)
 *         return code;
 *     while (row_cursor_next(&rows))
 *         if ((code = add_thread(threads, row_int(&rows, 0), row_int_or(&rows, 1, INT64_MIN), err)) != 0)
 *             goto close_rows;
 * close_rows:
 *     row_cursor_close(&rows);
 *     return code;
 *
 * An analysis that needs its rows in another order, or twice, reads them with columns_read() (event_columns.h). */
#ifndef TACHO_ANALYZE_ENGINE_ROW_CURSOR_H
#define TACHO_ANALYZE_ENGINE_ROW_CURSOR_H

#include "report/reader/reader.h"

struct row_cursor {
    struct report_columns columns; /* owned */
    size_t row;                    /* the current row; before the first row_cursor_next() there is none */
    size_t next;
};

/* Decodes the columns, named up to a NULL. A table that the report lacks has no rows; a column that the table lacks is
 * NULL in every row. After an error the cursor has no rows and needs no row_cursor_close(). */
int row_cursor_open(struct row_cursor *cursor, struct report *report, const char *table, const char *const *names,
                    struct error *err);
/* Does nothing to a cursor that is all zero or closed. */
void row_cursor_close(struct row_cursor *cursor);

/* Moves to the next row; 0 after the last. */
static inline int row_cursor_next(struct row_cursor *cursor)
{
    cursor->row = cursor->next;
    return cursor->next < cursor->columns.rows ? (cursor->next++, 1) : 0;
}

/* Values of the current row. `column` counts the names given to row_cursor_open(). */
static inline int row_is_null(const struct row_cursor *cursor, size_t column)
{
    return columns_is_null(&cursor->columns, column, cursor->row);
}

/* For a NULL the values of row_int() and row_real() are undefined. */
static inline int64_t row_int(const struct row_cursor *cursor, size_t column)
{
    return cursor->columns.values[column][cursor->row];
}

static inline int64_t row_int_or(const struct row_cursor *cursor, size_t column, int64_t value_of_null)
{
    return row_is_null(cursor, column) ? value_of_null : row_int(cursor, column);
}

/* A string of the report's pool; "" for NULL. */
static inline const char *row_string(const struct row_cursor *cursor, struct report *report, size_t column)
{
    return row_is_null(cursor, column) ? "" : report_string(report, row_int(cursor, column), NULL);
}

static inline double row_real(const struct row_cursor *cursor, size_t column)
{
    union {
        int64_t bits;
        double real;
    } value = { .bits = row_int(cursor, column) };
    return value.real;
}

#endif
