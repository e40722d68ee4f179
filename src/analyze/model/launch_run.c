/* See launch_run.h. */
#include "launch_run.h"

#include <stdlib.h>

#include "base/array.h"
#include "base/error.h"

int launch_run_open(struct launch_run *run, size_t count)
{
    *run = (struct launch_run){
        .call_start_ns = malloc((count + 1) * sizeof *run->call_start_ns),
        .call_end_ns = malloc((count + 1) * sizeof *run->call_end_ns),
        .tree = malloc((2 * count + 1) * sizeof *run->tree),
        .count = count,
    };
    return run->call_start_ns && run->call_end_ns && run->tree ? 0 : ERR_NO_MEMORY;
}

void launch_run_ready(struct launch_run *run)
{
    for (size_t i = run->count; i-- > 1;)
        run->tree[i] = launch_run_work_joined(run->tree[2 * i], run->tree[2 * i + 1]);
}

void launch_run_close(struct launch_run *run)
{
    free(run->call_start_ns);
    free(run->call_end_ns);
    free(run->tree);
    *run = (struct launch_run){ 0 };
}

/* The first call from `from` on that begins at the time or later: an exponential, then a binary search. */
static size_t launch_run_find_call(const struct launch_run *run, size_t from, int64_t time_ns)
{
    size_t step = 1, to = from;

    while (to < run->count && run->call_start_ns[to] < time_ns) {
        from = to + 1;
        to = run->count - to > step ? to + step : run->count;
        step *= 2;
    }
    return from + array_first_not_before(run->call_start_ns + from, to - from, time_ns);
}

struct launch_run_work launch_run_inside(const struct launch_run *run, int64_t start_ns, int64_t end_ns, size_t *from)
{
    struct launch_run_work work = LAUNCH_RUN_NO_WORK;

    *from = launch_run_find_call(run, *from, start_ns);
    size_t first = *from, behind = end_ns == INT64_MAX ? run->count : launch_run_find_call(run, first, end_ns + 1);
    while (behind > first && run->call_end_ns[behind - 1] > end_ns)
        behind--; /* a call that outlasts the range is not in it */
    for (first += run->count, behind += run->count; first < behind; first /= 2, behind /= 2) {
        if (first & 1)
            work = launch_run_work_joined(work, run->tree[first++]);
        if (behind & 1)
            work = launch_run_work_joined(work, run->tree[--behind]);
    }
    return work;
}
