/* The answer of a rule about a report: there is a problem or none, its data is missing, or nothing at all. */
#ifndef TACHO_ANALYZE_RULES_RULE_STATE_H
#define TACHO_ANALYZE_RULES_RULE_STATE_H

#include "analyze/engine/analysis.h"

enum rule_state {
    RULE_READY,     /* its data is there: run it */
    RULE_CLEAR,     /* the events that it looks at were recorded, but there are none: nothing is wrong */
    RULE_UNCHECKED, /* its data was not recorded */
    RULE_FOREIGN,   /* it is about another kind of program */
};

/* `rule` may also be an analysis of `tacho stats`. */
enum rule_state rule_state(const struct analysis *rule, struct report *report);

#endif
