/* Where the GPU is when a recorded step begins: the first launch of its thread in that step, and the start of the
 * kernel or graph that it launched. The time between the two is the lead of the host over the GPU. */
#ifndef TACHO_ANALYZE_MODEL_STEPS_STEP_LAUNCHES_H
#define TACHO_ANALYZE_MODEL_STEPS_STEP_LAUNCHES_H

#include "analyze/model/timed_steps.h"

#define NO_LAUNCH INT64_MIN

struct step_launch {
    int64_t call_ns;  /* start of the call; NO_LAUNCH: there is none */
    int64_t start_ns; /* on the GPU; NO_LAUNCH: that was not recorded */
};

/* The launches of the steps of one thread, in order of time. out has room for as many. Steps that were only timed have
 * none. */
int step_launches_read(struct step_launch *out, const struct timed_step *steps, size_t count, struct report *report,
                       struct error *err);

#endif
