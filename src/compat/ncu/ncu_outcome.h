/* The contents of a capture for tacho ncu, for the notes after it. */
#ifndef TACHO_COMPAT_NCU_NCU_OUTCOME_H
#define TACHO_COMPAT_NCU_NCU_OUTCOME_H

#include <stdint.h>

#include "base/text.h"

struct ncu_outcome {
    int64_t passes;    /* the most that one kernel has; 0: none was counted */
    uint64_t launches; /* recorded launches, counted or not */
    struct text names; /* names of the first different kernels among them; owned */
};

/* All 0 for a report that cannot be read. */
void ncu_outcome_read(struct ncu_outcome *outcome, const char *path);
void ncu_outcome_free(struct ncu_outcome *outcome);

#endif
