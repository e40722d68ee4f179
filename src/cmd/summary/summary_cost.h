/* The line about what recording cost the program, and Tacho beside it. */
#ifndef TACHO_CMD_SUMMARY_SUMMARY_COST_H
#define TACHO_CMD_SUMMARY_SUMMARY_COST_H

#include "source_summary.h"

/* after: "the program", or what else the report was ready after. */
void summary_add_cost(struct text *out, const struct summary *summary, const char *after);

#endif
