/* What waits for the GPU cost: a replay of the capture without them tells. Functions for analysis.impact. */
#ifndef TACHO_ANALYZE_RULES_RULE_WAITS_H
#define TACHO_ANALYZE_RULES_RULE_WAITS_H

#include "analyze/engine/analysis.h"
#include "analyze/replay/replay.h"

/* Starts from {0}. Belongs to one report. */
struct rule_shared {
    struct replay replay;
    int has_replay;
};
void rule_shared_free(struct rule_shared *shared);

/* For tables of calls, and of copies and fills whose calls wait for them. Rows have the columns Start and PID. */
#define RULE_WAITS(name)                                                                                               \
    int name(struct report *report, const struct table *table, struct rule_shared *shared, int64_t *out,               \
             struct error *err)
RULE_WAITS(rule_waits_of_calls);
RULE_WAITS(rule_waits_for_copies);
RULE_WAITS(rule_waits_for_fills);

#endif
