/* Reads the steps of a report from any of their sources. */
#ifndef TACHO_ANALYZE_MODEL_TORCH_STEPS_READ_H
#define TACHO_ANALYZE_MODEL_TORCH_STEPS_READ_H

#include "analyze/model/steps.h"

/* The tables any of which may have steps; NULL ends them. */
extern const char *const steps_tables[];

/* Defines the steps. If range and op are NULL, they are the first of these that the report has: steps that were
 * timed, of which the others than traced ones are not chosen, steps of PyTorch's profiler, ranges and annotations
 * named ProfilerStep#N, ranges and annotations named "iteration N" or "step N"; and if they may be guessed, calls of
 * Optimizer.step, of a DataLoader, of the outermost module, else launches that repeat. */
struct steps_request {
    const char *range; /* a basic regular expression that ranges and annotations match, upper and lower case alike */
    const char *op;    /* each call of it begins a step */
    int may_guess;     /* else only steps that the program names */
};

/* The recorded steps of a capture that only timed some, of which the traced ones are chosen; none in other captures.
 * After an error the caller frees the steps. */
int steps_timed_read(struct steps *steps, struct report *report, struct error *err);

/* All steps, all chosen; ERR_NO_DATA, with a sentence, if there are none. */
int steps_read(struct steps *steps, struct report *report, const struct steps_request *request, struct error *err);

#endif
