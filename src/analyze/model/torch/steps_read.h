/* Reads the steps of a report, wherever they come from. */
#ifndef TACHO_ANALYZE_MODEL_TORCH_STEPS_READ_H
#define TACHO_ANALYZE_MODEL_TORCH_STEPS_READ_H

#include "analyze/model/steps.h"

/* What makes a step; both NULL: the first of these that the report has: steps that PyTorch's profiler was told of,
 * ranges and annotations called ProfilerStep#N, then those called "iteration N" or "step N". */
struct steps_request {
    const char *range;    /* a basic regular expression that ranges and annotations match, upper and lower case alike */
    const char *operator; /* each call of it begins a step */
};

/* All steps, all chosen; ERR_NO_DATA, with a sentence, if there are none. */
int steps_read(struct steps *steps, struct report *report, const struct steps_request *request, struct error *err);

#endif
