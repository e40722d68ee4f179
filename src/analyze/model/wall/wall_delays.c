/* Divides the time in run queues over the waits of each thread: see wall_delays.h. */
#include "wall_delays.h"

#include <stdlib.h>

#include "analyze/model/sched_times.h"
#include "base/array.h"
#include "base/saturating.h"

#define LEAST_DELAY_NS INT64_C(50000) /* shorter ones are a part of any wait */
/* The kernel's sum begins with the thread, and so before the first switch that was recorded: of few waits it says
 * nothing. */
enum { LEAST_WAITS = 16 };

static int wall_delays_by_length(const void *a, const void *b)
{
    return COMPARE(*(const int64_t *)a, *(const int64_t *)b);
}

/* The most that a wait has so that all together have the total: those that are shorter have all of their length. */
static int64_t wall_delays_level(int64_t *lengths, size_t count, int64_t total_ns)
{
    if (count)
        qsort(lengths, count, sizeof *lengths, wall_delays_by_length);
    for (size_t i = 0; i < count; i++) {
        int64_t level = total_ns / (int64_t)(count - i);
        if (level <= lengths[i])
            return level;
        total_ns -= lengths[i];
    }
    return INT64_MAX;
}

/* What the kernel's sum of a thread has beyond its preemptions, each wait at most. 0: nothing worth mentioning.
 * lengths: room for all its spans. */
static int64_t wall_delays_most(const struct sched_times *times, const struct thread_span *spans, size_t count,
                                int64_t *lengths)
{
    size_t at = BISECT(0, times->thread_count, i, times->threads[i].id < spans->thread), blocked = 0;

    if (at == times->thread_count || times->threads[at].id != spans->thread)
        return 0;
    int64_t total_ns = times->threads[at].state_ns[SCHED_RUNNABLE];
    for (size_t i = 0; i < count; i++) {
        int64_t length = saturating_duration(spans[i].start_ns, spans[i].end_ns);
        if (spans[i].name == OFF_CPU_PREEMPTED)
            total_ns = saturating_duration(length, total_ns);
        else
            lengths[blocked++] = length;
    }
    int64_t level = total_ns > 0 && blocked >= LEAST_WAITS ? wall_delays_level(lengths, blocked, total_ns) : 0;
    return level >= LEAST_DELAY_NS ? level : 0;
}

static int wall_delays_cut_span(struct thread_span *span, int64_t most_ns, struct thread_spans *ready)
{
    int64_t length = saturating_duration(span->start_ns, span->end_ns);
    struct thread_span delay = *span;

    if (span->name == OFF_CPU_PREEMPTED)
        return 0;
    span->end_ns -= length < most_ns ? length : most_ns;
    delay.start_ns = span->end_ns;
    return thread_spans_add(ready, &delay);
}

static int wall_delays_cut_thread(struct thread_span *spans, size_t count, const struct sched_times *times,
                                  int64_t *lengths, struct thread_spans *ready)
{
    int64_t most_ns = wall_delays_most(times, spans, count, lengths);

    for (size_t i = 0; i < count && most_ns; i++)
        if (wall_delays_cut_span(&spans[i], most_ns, ready) != 0)
            return ERR_NO_MEMORY;
    return 0;
}

static int wall_delays_cut_all(struct thread_spans *off_cpu, const struct sched_times *times,
                               struct thread_spans *ready)
{
    int64_t *lengths = calloc(off_cpu->count + 1, sizeof *lengths);
    int code = ERR_NO_MEMORY;

    if (!lengths)
        return code;
    for (size_t i = 0, next; i < off_cpu->count; i = next) {
        for (next = i + 1; next < off_cpu->count && off_cpu->list[next].thread == off_cpu->list[i].thread; next++)
            ;
        if (wall_delays_cut_thread(&off_cpu->list[i], next - i, times, lengths, ready) != 0)
            goto free_lengths;
    }
    code = 0;
free_lengths:
    free(lengths);
    return code;
}

int wall_delays_cut(struct thread_spans *off_cpu, struct thread_spans *ready, struct report *report, struct error *err)
{
    const struct analysis_request all = { 0 };
    struct sched_times times;
    int code = sched_times_read(&times, report, &all, err);

    if (code == ERR_NO_DATA)
        return 0;
    if (code != 0)
        return code;
    if (wall_delays_cut_all(off_cpu, &times, ready) != 0)
        code = error_short_memory(err, "for the waits");
    sched_times_free(&times);
    return code;
}
