/* The rows of a table in order, for exporters: decoded a window at a time, ahead of the caller, so that memory is
 * bounded and decoding costs no wall time. Applies time ranges and the shift of times. Of the rows about one object
 * that schema_last_row_key() describes, only the last one is returned. */
#ifndef TACHO_EXPORT_EXPORT_ROWS_H
#define TACHO_EXPORT_EXPORT_ROWS_H

#include "export.h"

#define EXPORT_COLUMNS_MAX 64

struct export_rows;

/* The current row. values[c][at] is column c; bit c of null_masks[at] says that it is NULL. */
struct export_window {
    int64_t *values[EXPORT_COLUMNS_MAX];
    uint64_t *null_masks;
    size_t at;
    uint64_t first; /* the row of the table that values[c][0] is of */
};

/* shift_ns is added to times; ranges of the options are as in the report, before that. columns are numbers
 * of the table's columns; -1 stands for a column that is NULL in every row. */
int export_rows_open(struct report *report, const struct report_table *table, const int *columns, size_t column_count,
                     const struct export_options *options, int64_t shift_ns, struct export_rows **out,
                     struct error *err);

/* 1: there is a row; 0: no more; else an ERR_ code. */
int export_rows_next(struct export_rows *rows, struct error *err);
const struct export_window *export_window(const struct export_rows *rows);
void export_rows_close(struct export_rows *rows);

#endif
