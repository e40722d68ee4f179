/* What waits for the GPU cost: a replay of the capture without them tells. Functions for analysis.impact. */
#ifndef TACHO_ANALYZE_RULES_RULE_WAITS_H
#define TACHO_ANALYZE_RULES_RULE_WAITS_H

#include "analyze/engine/analysis.h"

/* For tables of calls, and of copies and fills whose calls wait for them. Rows have the columns Start and PID. */
int rule_waits_of_calls(struct report *report, const struct table *table, int64_t *out, struct error *err);
int rule_waits_for_copies(struct report *report, const struct table *table, int64_t *out, struct error *err);
int rule_waits_for_fills(struct report *report, const struct table *table, int64_t *out, struct error *err);

#endif
