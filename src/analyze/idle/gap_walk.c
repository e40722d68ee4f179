/* The way back from the work that ends a gap, along the calls of the replay's events: see gap_causes.h. */
#include "analyze/engine/keys.h"
#include "base/array.h"
#include "gap_causes.h"

static int gap_walk_add_link(struct gap_causes *causes, int64_t thread, int64_t start_ns, int64_t end_ns, uint32_t call)
{
    return ARRAY_PUSH(causes->links, causes->link_room, causes->link_count,
                      (struct gap_link){ thread, start_ns, end_ns, call });
}

/* The call that this one came after: that of another thread which handed over, or the one before it. */
static uint32_t call_before(const struct replay_events *events, uint32_t at)
{
    const struct replay_call *call = &events->calls[at];
    uint32_t before = call->handover != NO_HANDOVER              ? events->handovers[call->handover].after
                      : at > events->threads[call->thread].first ? at - 1
                                                                 : NO_CALL;

    /* times of a damaged report lead nowhere, rather than around in circles */
    return before != NO_CALL && events->calls[before].start_ns < call->start_ns ? before : NO_CALL;
}

/* Adds calls and the times between them, from this call back to the start of the gap. */
static int walk_from(struct gap_causes *causes, uint32_t at, const struct gap *gap)
{
    const struct replay_events *events = causes->events;

    for (;;) {
        const struct replay_call *call = &events->calls[at];
        int64_t thread = events->threads[call->thread].id;
        if (gap_walk_add_link(causes, thread, call->start_ns, call->end_ns, at) != 0)
            return ERR_NO_MEMORY;
        if (call->start_ns <= gap->start_ns)
            return 0;
        at = call_before(events, at);
        int64_t from = at == NO_CALL ? gap->start_ns : events->calls[at].end_ns;
        if (gap_walk_add_link(causes, thread, from, call->start_ns, NO_CALL) != 0)
            return ERR_NO_MEMORY;
        if (at == NO_CALL || from <= gap->start_ns)
            return 0;
    }
}

/* The last call of a thread that starts before this time, or NO_CALL. */
static uint32_t last_call(const struct replay_events *events, int64_t id, int64_t time_ns)
{
    const struct replay_thread *thread = replay_thread_of(events, id);
    uint32_t behind = thread ? replay_call_from(events, thread, time_ns) : 0;

    return thread && behind > thread->first ? behind - 1 : NO_CALL;
}

/* No work ended the gap: what the thread did counts. */
static int walk_thread(struct gap_causes *causes, const struct gap *gap)
{
    const struct replay_events *events = causes->events;
    uint32_t call = last_call(events, gap->thread, gap->end_ns);
    int64_t from = call == NO_CALL ? gap->start_ns : events->calls[call].end_ns;

    if (from < gap->end_ns && gap_walk_add_link(causes, gap->thread, from, gap->end_ns, NO_CALL) != 0)
        return ERR_NO_MEMORY;
    return call == NO_CALL || from <= gap->start_ns ? 0 : walk_from(causes, call, gap);
}

/* The work that ended the gap, or NO_WORK. */
static uint32_t gap_walk_work_of(const struct gap_causes *causes, const struct gap *gap)
{
    const struct replay_events *events = causes->events;
    int table = 0;

    while (table < REPLAY_TABLES && gpu_busy_tables[table] != gap->table)
        table++;
    if (table == REPLAY_TABLES || gap->row >= events->first_at[table + 1] - events->first_at[table])
        return NO_WORK;
    return causes->work_of[events->first_at[table] + gap->row];
}

/* The main thread of the process that work is of, which counts where no call launched it. */
static int64_t main_thread(const struct replay_events *events, uint32_t work)
{
    int64_t process = keys_get(&events->scopes, events->works[work].stream)[STREAM_PROCESS];

    return global_process(process) | global_pid_number(process);
}

int gap_walk(struct gap_causes *causes, const struct gap *gap, uint32_t *launch)
{
    const struct replay_events *events = causes->events;
    uint32_t work = gap->table ? gap_walk_work_of(causes, gap) : NO_WORK;

    *launch = work == NO_WORK ? NO_CALL : events->works[work].call;
    causes->link_count = 0;
    if (work == NO_WORK)
        return walk_thread(causes, gap);
    if (*launch == NO_CALL)
        return gap_walk_add_link(causes, main_thread(events, work), gap->start_ns, gap->end_ns, NO_CALL);
    return events->calls[*launch].end_ns <= gap->start_ns ? 0 : walk_from(causes, *launch, gap);
}
