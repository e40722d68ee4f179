/* The operators of PyTorch around CUDA calls: they say what a call is for. */
#ifndef TACHO_ANALYZE_ADVICE_ADVICE_OPERATORS_H
#define TACHO_ANALYZE_ADVICE_ADVICE_OPERATORS_H

#include "analyze/model/stacks/thread_spans.h"
#include "analyze/replay/replay.h"

/* Starts from {0}. */
struct advice_operators {
    struct report *report;
    struct thread_spans spans; /* operators, annotations and NVTX ranges */
    const struct thread_span **open;
    size_t open_room, depth, next;
    int64_t thread;
};

/* Needs advice_operators_free() after an error too. */
int advice_operators_open(struct advice_operators *operators, struct report *report, struct error *err);
void advice_operators_free(struct advice_operators *operators);

/* The operators around a moment of a thread, the outermost first: operators->open and depth. Moments must be asked for
 * by thread, then by time. ERR_NO_MEMORY or 0. */
int advice_operators_at(struct advice_operators *operators, int64_t thread, int64_t time_ns);

/* How PyTorch's annotation begins in which a DataLoader makes, or waits for, its next batch. */
extern const char advice_loader_mark[];

/* The outermost of these that is an operator, and no annotation or range; NULL: none. */
const struct thread_span *advice_operator(const struct advice_operators *operators);

#endif
