/* The answer: the step, and what to change first. */
#ifndef TACHO_CMD_SUMMARY_SUMMARY_ADVICE_H
#define TACHO_CMD_SUMMARY_SUMMARY_ADVICE_H

#include "source_summary.h"

/* Runs the rules. A report that would take too long has no advice. */
void summary_read_advice(struct summary *summary);

/* Adds the lines, if a replay found causes. */
void summary_add_answer(struct text *out, struct summary *summary);

#endif
