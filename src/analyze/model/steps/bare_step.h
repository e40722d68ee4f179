/* The bare step: how long a step takes while nothing is recorded, in a capture that only timed some of its steps: with
 * --advise, or with probes. */
#ifndef TACHO_ANALYZE_MODEL_STEPS_BARE_STEP_H
#define TACHO_ANALYZE_MODEL_STEPS_BARE_STEP_H

#include "analyze/model/timed_steps.h"

struct bare_step {
    int64_t bare_ns, traced_ns; /* the mean step of each phase, from mark to mark; 0: there is none */
    int64_t slow_ns;            /* nine of ten steps that were only timed take no longer; 0: there are none */
    int64_t lowered_ns;         /* the same for steps of which --cost-limit recorded less */
    size_t timed, traced, lowered, detailed; /* number of steps */
};

/* The bare step of the thread with most steps. Steps are timed on the GPU where that sets the pace: the host runs ahead
 * of it, and its marks are closer to each other than the steps of the GPU. Of steps with several marks only whole ones
 * count; if the GPU sets their pace, the bare step is not known. A mean leaves out spans of up to 16 steps
 * that take more than twice as long as the median span: they hold an evaluation, a checkpoint or the warm-up. Such
 * steps are none of the slow ones either. */
int bare_step_read(struct bare_step *out, struct report *report, struct error *err);

#endif
