/* The columns of a comparison: which figure is compared, and what names a row. Part of table_diff.h. */
#ifndef TACHO_ANALYZE_ENGINE_DIFF_COLUMNS_H
#define TACHO_ANALYZE_ENGINE_DIFF_COLUMNS_H

#include "table.h"

enum { DIFF_MOST_KEYS = 16 };

/* How rows of one run that have the same name become one. */
enum diff_combine { DIFF_SUM, DIFF_LEAST, DIFF_GREATEST, DIFF_MEAN };

struct diff_columns {
    const struct table_column *all; /* of the tables */
    size_t count;
    int keys[DIFF_MOST_KEYS];       /* the columns that name a row */
    size_t key_count;
    int compared;
    enum diff_combine combine;
    int samples; /* the column with the number of samples behind the compared figure; -1: it is not an estimate */
};

/* Finds the columns of these tables, all of one report; NULL is a run without data. wanted is a nickname or a column's
 * name; NULL: the nickname that the report has first. ERR_NO_DATA without any table; ERR_BAD_ARGUMENT, with a sentence
 * that begins with the report's name, if the report has no such column. */
int diff_columns_choose(struct diff_columns *out, struct table *const *tables, size_t count, const char *report,
                        const char *wanted, struct error *err);

/* The part of a text that is shown, and the part by which rows of two runs are matched: modules without their folder
 * and version, places without their line. */
struct diff_key {
    const char *bytes;
    size_t shown, matched;
};
struct diff_key diff_key_of(const struct table_column *column, const struct table_cell *cell);

#endif
