/* Model FLOPs utilization (MFU): the FLOPs of a step's matrix multiplications, convolutions and attention, divided by
 * what the GPUs could have computed in its time. Recomputation counts only in HFU, the utilization of the hardware. */
#ifndef TACHO_ANALYZE_MODEL_FLOPS_STEP_FLOPS_H
#define TACHO_ANALYZE_MODEL_FLOPS_STEP_FLOPS_H

#include "analyze/model/steps.h"
#include "operator_flops.h"

struct step_flops {
    double model, hardware; /* FLOPs without and with recomputation */
    int64_t wall_ns;        /* of the step on all GPUs of its process: 2 GPUs have twice the time */
};

struct steps_flops {
    struct step_flops *list; /* owned; by step */
    struct step_flops sum;   /* of the chosen steps but for the warm-up */
    enum gpu_rate rate;      /* the peak: of the type with most of the FLOPs; GPU_RATES: no FLOPs */
    double peak;             /* FLOP/s of a GPU at that rate; 0: not known */
    double covered;          /* share of the time of all work on GPUs for which FLOPs are known, from 0 to 1 */
    double mfu, hfu;         /* of the sum, from 0 to 1, or NOT_KNOWN: the peak is not known, or there are no FLOPs */
};

/* The part of the report that counts is that of the steps. peaks: as for gpu_peaks_read(). ERR_NO_DATA, with a
 * sentence, if there are no operators with shapes. */
int flops_of_steps(struct steps_flops *out, struct report *report, const struct steps *steps, const char *peaks,
                   struct error *err);
void steps_flops_free(struct steps_flops *steps);

#endif
