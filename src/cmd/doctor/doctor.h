/* What `tacho doctor` looks at: one row a thing, in the order that it is told. */
#ifndef TACHO_CMD_DOCTOR_DOCTOR_H
#define TACHO_CMD_DOCTOR_DOCTOR_H

#include "base/text.h"

enum verdict {
    VERDICT_WORKS,
    VERDICT_PARTLY,
    VERDICT_FAILS,
    VERDICT_LATER, /* this version cannot do it on any machine */
    VERDICT_NOTE,  /* neither good nor bad, but good to know */
};

struct finding {
    enum verdict verdict;
    struct text why;   /* one sentence or two */
    struct text allow; /* a line each: what to type or set to allow it; empty when nothing is needed or helps */
};

struct examination {
    const char *name;
    void (*look)(struct finding *finding);
};

extern const struct examination examinations[]; /* ends with a row without a name */

/* Whether CUDA can be traced: driver, CUPTI, other profilers in the environment. root stands before
 * the paths of the system: "". */
void doctor_cuda(const char *root, struct finding *finding);
/* Whether the driver would let a user read the GPU's counters. */
void doctor_gpu_counters(const char *root, struct finding *finding);

#endif
