/* Decides for all analyses whether an event passes the request's span and filter. */
#ifndef TACHO_ANALYZE_MODEL_FILTER_H
#define TACHO_ANALYZE_MODEL_FILTER_H

#include "analyze/engine/analysis.h"
#include "analyze/engine/event_columns.h"
#include "calls.h"

struct filter {
    const struct report_span *span;
    struct analysis_filter only;
    struct calls *calls; /* owned; to find the launch of GPU work; NULL unless the filter needs its thread or time */
};

/* A filter that is all zero passes every event and needs neither of these. filter_close() is safe after an error. */
int filter_open(struct filter *filter, struct report *report, const struct analysis_request *request,
                struct error *err);
void filter_close(struct filter *filter);

/* Whether an event of this process passes the filter; its thread does not matter. */
int filter_step(const struct filter *filter, int64_t process, int64_t time_ns);
static inline int filter_process(const struct filter *filter, int64_t global_pid, int64_t start_ns, int64_t end_ns)
{
    if (!span_overlaps(filter->span, start_ns, end_ns))
        return 0;
    return !(filter->only.only & (ONLY_PID | ONLY_STEPS)) ||
           ((!(filter->only.only & ONLY_PID) || global_pid_number(global_pid) == filter->only.pid) &&
            (!(filter->only.only & ONLY_STEPS) || filter_step(filter, global_process(global_pid), start_ns)));
}

/* Whether an event of this thread passes the filter. */
static inline int filter_thread(const struct filter *filter, int64_t global_tid, int64_t start_ns, int64_t end_ns)
{
    return filter_process(filter, global_tid, start_ns, end_ns) &&
           (!(filter->only.only & ONLY_TID) || global_tid_number(global_tid) == filter->only.tid);
}

/* Whether work on a GPU passes the filter. */
struct filter_gpu_work {
    int64_t start_ns, end_ns, process, correlation, device, stream;
};
int filter_gpu_slowly(const struct filter *filter, const struct filter_gpu_work *work);
static inline int filter_gpu(const struct filter *filter, const struct filter_gpu_work *work)
{
    return span_overlaps(filter->span, work->start_ns, work->end_ns) &&
           (!filter->only.only || filter_gpu_slowly(filter, work));
}

#endif
