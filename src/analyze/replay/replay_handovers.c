/* Threads that hand over to each other: autograd's thread runs while the main thread waits for it, a loader puts a
 * batch into a queue. No record says so. A thread that was silent for a while goes on after the thread of its process
 * that fell silent last before, if it waited at that time: replay_pauses.h says whether, as far as records show.
 *
 * Where there are none, a thread that only computes between two calls looks the same. That costs no accuracy in the
 * replay of an unchanged program, but a change to one thread then moves the computing of the other, and a saving may
 * come out too large. */
#include <stdlib.h>

#include "analyze/engine/order.h"
#include "base/array.h"
#include "replay_pauses.h"

/* A thread that made no call for PAUSE_NS may have waited for another, which then makes no call for SILENCE_NS. */
enum {
    PAUSE_NS = 200000,
    SILENCE_NS = 100000,
    MOST_TRIES = 64,
};

struct handovers {
    struct replay_events *events;
    uint32_t *by_start, *by_end; /* owned; the calls */
    int64_t *time;               /* owned */
    uint32_t *last;              /* owned; by call: the call of another thread that may have handed over, or NO_CALL */
    struct replay_pause *pauses; /* owned; of those that have one */
    size_t pause_count;
};

static int handovers_arrange(struct handovers *handovers)
{
    const struct replay_events *events = handovers->events;
    size_t count = events->call_count;

    handovers->by_start = array_alloc(count + 1, sizeof *handovers->by_start);
    handovers->by_end = array_alloc(count + 1, sizeof *handovers->by_end);
    handovers->time = calloc(count + 1, sizeof *handovers->time);
    handovers->last = array_alloc(count + 1, sizeof *handovers->last);
    if (!handovers->by_start || !handovers->by_end || !handovers->time || !handovers->last)
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

/* Whether a thread that made `last` can have handed over to `call`: it then fell silent itself. */
static int hands_over(const struct handovers *handovers, uint32_t last, uint32_t call)
{
    const struct replay_events *events = handovers->events;
    const struct replay_call *a = &events->calls[last], *b = &events->calls[call];

    if (a->thread == b->thread ||
        global_process(events->threads[a->thread].id) != global_process(events->threads[b->thread].id))
        return 0;
    return last + 1 == events->threads[a->thread].end ||
           (events->calls[last + 1].start_ns >= b->start_ns &&
            saturating_duration(a->end_ns, events->calls[last + 1].start_ns) >= SILENCE_NS);
}

/* `ended`: the calls that ended before this one starts. */
static uint32_t handovers_find_last(const struct handovers *handovers, uint32_t call, size_t ended)
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

static void handovers_find_candidates(struct handovers *handovers)
{
    const struct replay_events *events = handovers->events;
    size_t ended = 0;

    for (uint32_t i = 0; i < events->call_count; i++) {
        uint32_t call = handovers->by_start[i];
        while (ended < events->call_count && handovers->time[handovers->by_end[ended]] <= events->calls[call].start_ns)
            ended++;
        handovers->last[call] = handovers_find_last(handovers, call, ended);
        handovers->pause_count += handovers->last[call] != NO_CALL;
    }
}

/* The pauses before the calls that may have been handed over to. */
static int list_pauses(struct handovers *handovers)
{
    const struct replay_events *events = handovers->events;
    size_t count = 0;

    handovers->pauses = calloc(handovers->pause_count + 1, sizeof *handovers->pauses);
    if (!handovers->pauses)
        return ERR_NO_MEMORY;
    for (uint32_t i = 0; i < events->call_count; i++) {
        if (handovers->last[i] == NO_CALL)
            continue;
        struct replay_pause *pause = &handovers->pauses[count++];
        pause->thread = events->calls[i].thread;
        pause->start_ns = is_first(events, i) ? INT64_MIN : events->calls[i - 1].end_ns;
        pause->end_ns = events->calls[i].start_ns;
        pause->moment_ns = events->calls[handovers->last[i]].end_ns;
    }
    return 0;
}

static int keep_waits(struct handovers *handovers)
{
    struct replay_events *events = handovers->events;
    const struct replay_pause *pause = handovers->pauses;

    events->handovers = malloc((handovers->pause_count + 1) * sizeof *events->handovers);
    if (!events->handovers)
        return ERR_NO_MEMORY;
    for (uint32_t i = 0; i < events->call_count; i++) {
        int64_t own_ns;
        if (handovers->last[i] == NO_CALL || !replay_pause_waits(pause++, &own_ns))
            continue;
        events->handovers[events->handover_count] = (struct replay_handover){ handovers->last[i], own_ns };
        events->calls[i].handover = events->handover_count++;
    }
    return 0;
}

int replay_handovers_find(struct replay_events *events, struct report *report, struct error *err)
{
    struct handovers handovers = { .events = events };
    int code = 0;

    if (events->thread_count < 2)
        return 0;
    if (handovers_arrange(&handovers) != 0)
        goto no_memory;
    handovers_find_candidates(&handovers);
    if (!handovers.pause_count)
        goto done;
    if (list_pauses(&handovers) != 0)
        goto no_memory;
    if ((code = replay_pauses_read(handovers.pauses, handovers.pause_count, events, report, err)) != 0)
        goto done;
    if (keep_waits(&handovers) == 0)
        goto done;
no_memory:
    code = error_short_memory(err, "for the calls of threads");
done:
    free(handovers.by_start);
    free(handovers.by_end);
    free(handovers.time);
    free(handovers.last);
    free(handovers.pauses);
    return code;
}
