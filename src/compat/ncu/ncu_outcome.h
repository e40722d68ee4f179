/* What a capture for tacho ncu has, for the notes behind it. */
#ifndef TACHO_COMPAT_NCU_NCU_OUTCOME_H
#define TACHO_COMPAT_NCU_NCU_OUTCOME_H

#include <stdint.h>

#include "base/text.h"

struct ncu_outcome {
    int64_t passes;    /* the most of a kernel; 0: none was counted */
    uint64_t launches; /* that were recorded, counted or not */
    struct text names; /* of the first different kernels among them; owned */
};

/* Of a report that cannot be read, it is all 0. */
void ncu_outcome_read(struct ncu_outcome *outcome, const char *path);
void ncu_outcome_free(struct ncu_outcome *outcome);

#endif
