/* What a request leaves in: the one place that decides whether an event counts. */
#ifndef TACHO_ANALYZE_FILTER_H
#define TACHO_ANALYZE_FILTER_H

#include "analyze.h"
#include "calls.h"
#include "events.h"

struct filter {
    const struct report_span *span;
    struct analysis_filter only;
    struct calls *calls; /* to find the thread that launched something; NULL while no thread is asked for */
};

int filter_open(struct filter *filter, struct report *report, const struct analysis_request *request, struct error *err);
void filter_close(struct filter *filter);

/* Whether an event of this thread counts. */
static inline int filter_thread(const struct filter *filter, int64_t global_tid)
{
    if (!(filter->only.only & (ONLY_PID | ONLY_TID)))
        return 1;
    return (!(filter->only.only & ONLY_PID) || global_pid_number(global_tid) == filter->only.pid) &&
           (!(filter->only.only & ONLY_TID) || global_tid_number(global_tid) == filter->only.tid);
}

/* Whether work on a GPU counts. */
struct gpu_place { int64_t process, correlation, device, stream; };
int filter_gpu_slowly(const struct filter *filter, const struct gpu_place *place);
static inline int filter_gpu(const struct filter *filter, const struct gpu_place *place)
{
    return !filter->only.only || filter_gpu_slowly(filter, place);
}

#endif
