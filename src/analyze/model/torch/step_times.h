/* The breakdown of each step's time, on the CPU and on GPUs: unions of spans, so work that ran side by side counts
 * once. */
#ifndef TACHO_ANALYZE_MODEL_TORCH_STEP_TIMES_H
#define TACHO_ANALYZE_MODEL_TORCH_STEP_TIMES_H

#include "analyze/model/filter.h"
#include "analyze/model/steps.h"

/* Work on GPUs belongs to the step in which it was launched, whenever it ran. Of all else, the part in the step's time
 * counts. */
enum step_layer {
    LAYER_BUSY,              /* any work that it launched */
    LAYER_KERNEL,            /* kernels and graphs that are no communication */
    LAYER_COPY,              /* copies and fills */
    LAYER_COMMUNICATION,     /* kernels of NCCL */
    LAYER_COMPUTING,         /* the two kinds of kernels together */
    LAYER_WORK,              /* in its time: any work on GPUs, whichever step launched it */
    LAYER_WORK_OR_CPU,       /* the same, or an operator on the CPU */
    LAYER_LOADING,           /* the program waits for its DataLoader */
    LAYER_OPTIMIZER,
    LAYER_CPU_COMMUNICATION, /* collectives as the CPU sees them */
    STEP_LAYERS
};

struct step_times {
    int64_t ns[STEP_LAYERS];
    int64_t kernels; /* number of kernels and graphs that it launched */
};

struct step_breakdown {
    struct step_times *list;                        /* owned; by step */
    int has_work, has_operators, has_communication; /* the report has any on GPUs; on the CPU; kernels of NCCL */
};

/* The filter must not select steps: work of other steps may run in the time of a step. */
int step_breakdown_read(struct step_breakdown *out, const struct steps *steps, struct report *report,
                        const struct filter *filter, struct error *err);
void step_breakdown_free(struct step_breakdown *breakdown);

#endif
