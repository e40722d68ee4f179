/* Conditions of `tacho diff --fail-if`, and the line that says which figures met one. */
#ifndef TACHO_CMD_DIFF_CONDITION_H
#define TACHO_CMD_DIFF_CONDITION_H

#include "analyze/engine/analysis.h"
#include "analyze/engine/table_diff.h"
#include "cmd/condition.h"
#include "cmd/print/print.h"

struct diff_condition {
    struct condition is;
    const char *row;       /* the row of run_sum that the condition is about; NULL: it is about any report */
    const char *otherwise; /* the row where the reports do not have that one; NULL: none */
    int any;               /* one row is enough; else the sum of all */
    size_t checked;        /* reports to which it was applied */
    struct error refused;  /* why it was not applied to the last one */
};

/* Parses "any total > +5%"; the condition keeps the text. */
int diff_condition_parse(const char *text, struct diff_condition *out, struct error *err);

/* Whether it can be applied to what was compared: ERR_BAD_ARGUMENT, with a sentence, if not. */
int diff_condition_check(const struct diff_condition *condition, const struct analysis *analysis,
                         const struct table_diff *diff, struct error *err);

/* Whether it is met by a comparison of all rows. Adds a line with the figures if it is, and one that says why not if a
 * change exceeds the limit but may be noise. */
int diff_condition_is_met(const struct diff_condition *condition, const struct analysis *analysis,
                          const struct table_diff *diff, struct text *line);

/* Adds a compared figure with its unit; a time has this one, and with time_unit_auto figures have three digits. */
void diff_add_figure(struct text *out, const struct table_diff *diff, double value, const struct print_time_unit *time);

#endif
