/* Threads that hand over to each other: autograd's thread runs while the main thread waits for it, a loader puts a
 * batch into a queue. No record says so. A thread that was silent for a while goes on after the thread of its process
 * that fell silent last before; where calls of the operating system were recorded, only if it was blocked in one.
 *
 * A thread that only computes between two calls looks the same without such records. That costs no accuracy in the
 * replay of an unchanged program, but a change to one thread then moves the computing of the other, and a saving may
 * come out too large. */
#include <stdlib.h>

#include "analyze/engine/order.h"
#include "analyze/model/os_calls.h"
#include "replay_events.h"

enum {
    PAUSE_NS = 200000,   /* a thread that made no call for so long may have waited for another */
    SILENCE_NS = 100000, /* and that one makes no call for so long */
    BLOCKED_NS = 50000,  /* calls of the operating system that count */
    MOST_TRIES = 64,
};

struct handovers {
    struct replay_events *events;
    struct os_calls os;          /* in which threads wait */
    struct keys os_processes;    /* with such calls */
    uint32_t *by_start, *by_end; /* owned; the calls */
    int64_t *time;               /* owned */
};

static int read_os_calls(struct handovers *handovers, struct report *report, struct error *err)
{
    static const struct filter all;
    struct os_call_choice choice;
    int code;

    for (int kind = 0; kind < OS_CALL_KINDS; kind++)
        choice.least_ns[kind] = OS_CALL_NEVER;
    choice.least_ns[OS_CALL_LOCK] = choice.least_ns[OS_CALL_IO] = choice.least_ns[OS_CALL_EVENTS] =
        choice.least_ns[OS_CALL_WAIT] = BLOCKED_NS;
    if ((code = os_calls_read(&handovers->os, report, &choice, &all, err)) != 0)
        return code;
    for (size_t i = 0; i < handovers->os.count; i++) {
        int64_t process = global_process(handovers->os.list[i].thread);
        if (keys_add(&handovers->os_processes, &process) == NO_KEY)
            return error_set(err, ERR_NO_MEMORY, "not enough memory for the calls of threads");
    }
    return 0;
}

static int arrange(struct handovers *handovers)
{
    const struct replay_events *events = handovers->events;
    size_t count = events->call_count;

    handovers->by_start = malloc((count + 1) * sizeof *handovers->by_start);
    handovers->by_end = malloc((count + 1) * sizeof *handovers->by_end);
    handovers->time = malloc((count + 1) * sizeof *handovers->time);
    if (!handovers->by_start || !handovers->by_end || !handovers->time)
        return ERR_NO_MEMORY;
    for (uint32_t i = 0; i < count; i++) {
        handovers->by_start[i] = i;
        handovers->time[i] = events->calls[i].start_ns;
    }
    if (order_by_time(handovers->by_start, count, handovers->time) != 0)
        return ERR_NO_MEMORY;
    for (uint32_t i = 0; i < count; i++) {
        handovers->by_end[i] = handovers->by_start[i];
        handovers->time[i] = events->calls[i].end_ns;
    }
    return order_by_time(handovers->by_end, count, handovers->time);
}

static int is_first(const struct replay_events *events, uint32_t call)
{
    return call == events->threads[events->calls[call].thread].first;
}

/* Whether the thread of the call was blocked after this time, as far as records can tell. */
static int was_blocked(const struct handovers *handovers, const struct replay_call *call, int64_t time_ns)
{
    int64_t thread = handovers->events->threads[call->thread].id, process = global_process(thread);
    size_t behind;

    if (keys_find(&handovers->os_processes, &process) == NO_KEY)
        return 1;
    size_t at = os_calls_from(&handovers->os, thread, time_ns, &behind);
    return at < behind && handovers->os.list[handovers->os.by_thread[at]].start_ns < call->start_ns;
}

/* Whether a thread that made `last` can have handed over to `call`. The first call of a thread comes after whatever its
 * process did before. */
static int hands_over(const struct handovers *handovers, uint32_t last, uint32_t call)
{
    const struct replay_events *events = handovers->events;
    const struct replay_call *a = &events->calls[last], *b = &events->calls[call];

    if (a->thread == b->thread ||
        global_process(events->threads[a->thread].id) != global_process(events->threads[b->thread].id))
        return 0;
    if (is_first(events, call))
        return 1;
    if (last + 1 < events->threads[a->thread].end &&
        (events->calls[last + 1].start_ns < b->start_ns ||
         saturating_duration(a->end_ns, events->calls[last + 1].start_ns) < SILENCE_NS))
        return 0;
    return was_blocked(handovers, b, a->end_ns);
}

/* `ended`: the calls that ended before this one starts. */
static uint32_t find_last(const struct handovers *handovers, uint32_t call, size_t ended)
{
    const struct replay_events *events = handovers->events;
    int64_t since = is_first(events, call) ? INT64_MIN : events->calls[call - 1].end_ns;

    if (since != INT64_MIN && saturating_duration(since, events->calls[call].start_ns) < PAUSE_NS)
        return NO_CALL;
    for (size_t tries = 0; tries < MOST_TRIES && tries < ended; tries++) {
        uint32_t last = handovers->by_end[ended - 1 - tries];
        if (events->calls[last].end_ns <= since)
            return NO_CALL;
        if (hands_over(handovers, last, call))
            return last;
    }
    return NO_CALL;
}

static void find_all(struct handovers *handovers)
{
    struct replay_events *events = handovers->events;
    size_t ended = 0;

    for (uint32_t i = 0; i < events->call_count; i++) {
        uint32_t call = handovers->by_start[i];
        while (ended < events->call_count && handovers->time[handovers->by_end[ended]] <= events->calls[call].start_ns)
            ended++;
        events->calls[call].after = find_last(handovers, call, ended);
    }
}

int replay_handovers_find(struct replay_events *events, struct report *report, struct error *err)
{
    struct handovers handovers = { .events = events, .os_processes.width = 1 };
    int code = 0;

    if (events->thread_count < 2)
        return 0;
    if ((code = read_os_calls(&handovers, report, err)) != 0)
        goto done;
    if (arrange(&handovers) == 0)
        find_all(&handovers);
    else
        code = error_set(err, ERR_NO_MEMORY, "not enough memory for the calls of threads");
done:
    os_calls_free(&handovers.os);
    keys_free(&handovers.os_processes);
    free(handovers.by_start);
    free(handovers.by_end);
    free(handovers.time);
    return code;
}
