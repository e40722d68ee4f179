/* The activity of threads in layers, which explains why GPUs were idle. */
#ifndef TACHO_ANALYZE_REPORTS_IDLE_LAYERS_H
#define TACHO_ANALYZE_REPORTS_IDLE_LAYERS_H

#include "analyze/engine/analysis.h"
#include "analyze/model/stacks/thread_spans.h"
#include "base/intern.h"

/* In the order in which the layers are searched: the first one that covers a moment explains it. A CUDA call comes
 * before the calls into libc that it makes, and those before the line of Python that they came from. */
enum idle_cause {
    IDLE_LAUNCHED, /* the launch had returned, but the work did not begin */
    IDLE_SYNC,
    IDLE_CALL,
    IDLE_OS,
    IDLE_OFF_CPU,
    IDLE_PYTHON,
    IDLE_PYTHON_CALL,
    IDLE_NATIVE,
    IDLE_RANGE,
    IDLE_UNKNOWN,
    IDLE_CAUSES
};

/* gpu_idle_sum:detail: a row for each activity and place; with the option thread, only those of that thread. */
int gpu_idle_detail(struct report *report, const struct analysis_request *request, struct table **out,
                    struct error *err);

/* The activity of threads: a layer of spans for each cause that has one. */
struct idle_layers {
    struct report *report;
    struct thread_spans spans[IDLE_CAUSES];
    struct stacks native, python; /* stacks of samples; native has those of call chains too */
    struct stack_chains cuda_chains, os_chains, python_chains;
    struct intern texts;
    struct keys known;            /* the sources of texts: enum idle_text and a number of that kind */
    uint32_t *text_ids;           /* owned; by known */
    size_t text_room;
    int failed;                   /* memory was too short for a text */
};
enum { IDLE_NO_TEXT = UINT32_MAX };

int idle_layers_read(struct idle_layers *layers, struct report *report, const struct report_span *span,
                     struct error *err);
void idle_layers_free(struct idle_layers *layers);

/* The name of a span, and the place in the program where its thread was at that time: a line of Python, or a function.
 * Both return a number in texts, or IDLE_NO_TEXT. */
uint32_t idle_what(struct idle_layers *layers, enum idle_cause cause, const struct thread_span *span);
uint32_t idle_where(struct idle_layers *layers, enum idle_cause cause, const struct thread_span *span, int64_t time_ns);
/* The innermost range or operator around a moment. */
uint32_t idle_range(struct idle_layers *layers, int64_t thread, int64_t time_ns);

#endif
