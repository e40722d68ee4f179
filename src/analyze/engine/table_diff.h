/* Compares the same report of two sets of runs: the rows that changed, by how much, and with which confidence.
 *
 * Rows are matched by their names: texts, and numbers that are names, except ids that differ in each run (process,
 * thread and correlation ids). Rows of one run with the same name are combined first. */
#ifndef TACHO_ANALYZE_ENGINE_TABLE_DIFF_H
#define TACHO_ANALYZE_ENGINE_TABLE_DIFF_H

#include "base/error.h"
#include "table.h"

/* One figure on both sides. before and after are the medians of the runs, change the Hodges–Lehmann estimate of the
 * shift, which need not be the difference of the medians (for one run each: the difference), low and high the ends of
 * its interval, which is not below -before where no figure is negative. A row whose interval holds 0 has not changed.
 */
struct table_diff_change {
    double before, after, change, low, high;
    int in_before, in_after; /* 0: no run of that side has it */
};

struct table_diff {
    struct table *table;              /* owned; a row for each name that changed, the largest change first */
    struct table_diff_change *rows;   /* owned; by row of the table */
    struct table_diff_change overall; /* of the sum over all rows; where has_overall */
    int has_overall;                  /* the column can be summed over rows */
    size_t unchanged;                 /* rows that are not in the table */
    int is_estimate;                  /* made from samples: with one run each, intervals are their sampling error */
    int has_program;                  /* a row was matched by request.programs */
    int is_shift;                     /* a change, of a row in the table or the overall one, is not after - before */
    double confidence;                /* that an interval holds the true shift: at least 0.95, or the most that the
                                       * number of runs allows; 0: there are no intervals */
    const char *column;               /* the one that was compared */
    int unit;                         /* its enum table_unit */
};

struct table_diff_request {
    const char *report; /* its name, for messages */
    const char *column; /* a nickname (total, count, avg, med, min, max, stddev, share) or a column's own name; NULL:
                         * total, or the first figure that there is */
    int rows_overlap;   /* the same time is in several rows: there is no sum over all of them */
    int with_unchanged; /* the table has all rows */
    int is_overview;    /* the table has all rows that both sides have, in the order of the tables */
    const char *const *programs; /* by run: the base name of its program. A module or thread of that name is the same
                                  * row in all runs; NULL: names alone count */
};

/* The tables are those of the runs before, then those of the runs after; NULL for a run without data. ERR_NO_DATA if
 * no run has any, ERR_BAD_ARGUMENT if the report has no such column. */
int table_diff_make(struct table *const *tables, size_t before, size_t after, const struct table_diff_request *request,
                    struct table_diff *out, struct error *err);
void table_diff_free(struct table_diff *diff);

/* The shift between two samples and its interval at 95 % or, if there are too few values for that, at the confidence
 * that they allow. Returns the confidence. The samples are sorted in place. */
double table_diff_shift(double *before, size_t before_count, double *after, size_t after_count, double *shift,
                        double *low, double *high);

#endif
