/* The lines of the summary that come from analyses of no single source: the causes that rules found, and the functions
 * that took the CPU's time. */
#ifndef TACHO_CMD_SUMMARY_SUMMARY_FINDINGS_H
#define TACHO_CMD_SUMMARY_SUMMARY_FINDINGS_H

#include "source_summary.h"

/* Adds the first rows of advice_sum: what could be gained, and the finding. */
void summary_add_causes(struct text *out, const struct summary *summary);

/* Adds the text in a column of a row of advice_sum; 0 if the table lacks the column, or the cell is empty. */
int summary_cause(struct text *out, const struct table *causes, size_t row, const char *column);

/* Adds the functions in which most samples were taken, without those that they called, of the first source that has
 * samples. */
void summary_add_functions(struct text *out, const struct summary *summary);

#endif
