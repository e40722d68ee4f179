/* The cost of a rule's findings: the most time that a user can gain by following its advice. */
#ifndef TACHO_ANALYZE_RULES_RULE_IMPACT_H
#define TACHO_ANALYZE_RULES_RULE_IMPACT_H

#include "analyze/engine/analysis.h"

/* In ns. Rows of rules on CPUs say it (column "Impact"): wall time, so for all together it is at most the time that the
 * capture lasted. Of other rows it is the duration, less the share of it in
 * which the GPU was in use. */
struct rule_impact {
    int64_t *each; /* owned; by row */
    size_t *order; /* owned; rows, the one that costs most first */
    int64_t all;
    int64_t rank;  /* findings are ordered by it: as `all`, but 0 for a cause outside of the program that took less
                    * than half of the capture, so that it comes after causes that a user can change in the program */
};

/* capture_ns: see rule_capture_time(). Rows of a rule that lists events cost nothing, and keep their order. */
int rule_impact_read(struct rule_impact *impact, const struct analysis *rule, const struct table *table,
                     int64_t capture_ns, struct error *err);
void rule_impact_free(struct rule_impact *impact);

#endif
