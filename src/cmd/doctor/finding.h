/* The result of one check of `tacho doctor`. */
#ifndef TACHO_CMD_DOCTOR_FINDING_H
#define TACHO_CMD_DOCTOR_FINDING_H

#include "base/text.h"

enum finding_verdict {
    VERDICT_WORKS,
    VERDICT_PARTLY,
    VERDICT_FAILS,
    VERDICT_LATER, /* this version cannot do it on any machine */
    VERDICT_NOTE,  /* neither good nor bad, but useful to know */
};

struct doctor_finding {
    enum finding_verdict verdict;
    struct text why; /* one sentence or two */
    /* A line each: what to type or set to enable it; empty if nothing is needed or nothing helps. */
    struct text allow;
};

/* One check per row, in the order of the output; a row without a name ends a list. Checks of the same name in several
 * lists add to one finding, which is shown at the place of the first. */
struct doctor_examination {
    const char *name;
    void (*look)(struct doctor_finding *finding);
};

/* For checks that need the agent: 1 if it is installed; else the finding says that it is not. */
int finding_has_agent(struct doctor_finding *finding);

#endif
