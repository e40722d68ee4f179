/* Filters by process, thread, step, device and stream. */
#include "filter.h"

#include <stdlib.h>

#include "steps.h"

int filter_open(struct filter *filter, struct report *report, const struct analysis_request *request, struct error *err)
{
    *filter = (struct filter){ .span = request->span };
    if (request->filter)
        filter->only = *request->filter;
    if (!(filter->only.only & (ONLY_TID | ONLY_STEPS)))
        return 0;
    filter->calls = malloc(sizeof *filter->calls);
    if (!filter->calls)
        return error_no_memory(err);
    return calls_read(filter->calls, report, err);
}

void filter_close(struct filter *filter)
{
    if (filter->calls)
        calls_free(filter->calls);
    free(filter->calls);
    filter->calls = NULL;
}

int filter_step(const struct filter *filter, int64_t process, int64_t time_ns)
{
    uint32_t step = steps_at(filter->only.steps, process, time_ns);

    return step != NO_STEP && filter->only.steps->list[step].is_chosen;
}

/* Work without a known call belongs to the step in which it began, and to no thread. */
int filter_gpu_slowly(const struct filter *filter, const struct filter_gpu_work *work)
{
    const struct analysis_filter *only = &filter->only;

    if ((only->only & ONLY_PID && global_pid_number(work->process) != only->pid) ||
        (only->only & ONLY_DEVICE && work->device != only->device) ||
        (only->only & ONLY_STREAM && work->stream != only->stream))
        return 0;
    if (!(only->only & (ONLY_TID | ONLY_STEPS)))
        return 1;
    uint32_t call = calls_find(filter->calls, work->process, work->correlation);
    if (only->only & ONLY_TID && (call == NO_CALL || global_tid_number(filter->calls->thread[call]) != only->tid))
        return 0;
    int64_t launched_ns = call == NO_CALL ? work->start_ns : filter->calls->start[call];
    return !(only->only & ONLY_STEPS) || filter_step(filter, global_process(work->process), launched_ns);
}
