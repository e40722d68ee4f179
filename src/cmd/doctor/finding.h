/* What `tacho doctor` finds out about one thing. */
#ifndef TACHO_CMD_DOCTOR_FINDING_H
#define TACHO_CMD_DOCTOR_FINDING_H

#include "base/text.h"

enum finding_verdict {
    VERDICT_WORKS,
    VERDICT_PARTLY,
    VERDICT_FAILS,
    VERDICT_LATER, /* this version cannot do it on any machine */
    VERDICT_NOTE,  /* neither good nor bad, but good to know */
};

struct finding {
    enum finding_verdict verdict;
    struct text why;   /* one sentence or two */
    struct text allow; /* a line each: what to type or set to allow it; empty when nothing is needed or helps */
};

/* A row for each thing, in the order in which they are told; a row without a name ends a list. */
struct doctor_examination {
    const char *name;
    void (*look)(struct finding *finding);
};

/* For what needs the agent: 1 if it is there; else the finding says that it is not. */
int finding_has_agent(struct finding *finding);

#endif
