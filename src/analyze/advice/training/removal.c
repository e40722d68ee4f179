/* Edits that remove a span of a thread: see removal.h. */
#include "removal.h"

#include <stdlib.h>

#include "analyze/advice/advice_groups.h"

int call_works_open(struct call_works *works, const struct replay *replay)
{
    const struct replay_events *events = &replay->events;

    *works = (struct call_works){ .replay = replay };
    works->first = calloc(events->call_count + 2u, sizeof *works->first);
    works->list = malloc((events->work_count + 1u) * sizeof *works->list);
    if (!works->first || !works->list) {
        call_works_free(works);
        return ERR_NO_MEMORY;
    }
    /* first[call + 1] is where the next work of the call goes; in the end that is where those of the next call begin */
    for (uint32_t i = 0; i < events->work_count; i++)
        if (events->works[i].call != NO_CALL && events->works[i].call + 2 <= events->call_count)
            works->first[events->works[i].call + 2]++;
    for (uint32_t i = 2; i <= events->call_count; i++)
        works->first[i] += works->first[i - 1];
    for (uint32_t i = 0; i < events->work_count; i++)
        if (events->works[i].call != NO_CALL)
            works->list[works->first[events->works[i].call + 1]++] = i;
    return 0;
}

void call_works_free(struct call_works *works)
{
    free(works->first);
    free(works->list);
    *works = (struct call_works){ 0 };
}

void calls_between(const struct replay_events *events, int64_t thread, int64_t from_ns, int64_t to_ns, uint32_t *first,
                   uint32_t *end)
{
    const struct replay_thread *own = replay_thread_of(events, thread);

    *first = own ? replay_call_from(events, own, from_ns) : 0;
    *end = own ? replay_call_from(events, own, to_ns) : 0;
}

size_t call_works_count(const struct call_works *works, int64_t thread, int64_t from_ns, int64_t to_ns)
{
    uint32_t first, end;
    size_t count = 0;

    calls_between(&works->replay->events, thread, from_ns, to_ns, &first, &end);
    for (uint32_t at = works->first[first]; first < end && at < works->first[end]; at++)
        count += replay_table_of(&works->replay->events, works->replay->events.works[works->list[at]].at) ==
                 REPLAY_KERNEL;
    return count;
}

/* A kernel goes with the gap before it. One of which nothing is left delays no other by its launch. */
static int remove_work(const struct replay *replay, struct replay_edits *edits, uint32_t work,
                       const struct removal *removal)
{
    uint32_t run = replay_edge_to(replay, replay_work_end(replay, work), REPLAY_RUN),
             gap = replay_edge_to(replay, replay_work_start(replay, work), REPLAY_STREAM);
    int64_t run_ns = run == REPLAY_NO_EDGE ? 0 : replay->graph.lag[run],
            own_ns = run_ns > removal->short_ns ? run_ns - removal->short_ns : 0,
            gap_ns = replay->typical_ns[TYPICAL_GAP][REPLAY_KERNEL];

    if (replay_edit_cut(edits, run, run_ns - (int64_t)((double)own_ns * removal->left)) != 0 ||
        replay_edit_cut(edits, gap, gap_ns) != 0)
        return ERR_NO_MEMORY;
    if (removal->left > 0 || gap == REPLAY_NO_EDGE)
        return 0;
    return replay_edit_drop(edits, replay_edge_to(replay, replay_work_start(replay, work), REPLAY_LAUNCH));
}

int removal_add_works(const struct call_works *works, struct replay_edits *edits, const struct removal *removal)
{
    uint32_t first, end;

    calls_between(&works->replay->events, removal->thread, removal->from_ns, removal->to_ns, &first, &end);
    for (uint32_t at = works->first[first]; first < end && at < works->first[end]; at++)
        if (remove_work(works->replay, edits, works->list[at], removal) != 0)
            return ERR_NO_MEMORY;
    return 0;
}

int removal_add_time(const struct call_works *works, struct replay_edits *edits, const struct removal *removal)
{
    static const enum replay_kind waits[] = { REPLAY_WAIT, REPLAY_QUEUE };
    const struct replay *replay = works->replay;
    const struct replay_thread *thread = replay_thread_of(&replay->events, removal->thread);
    uint32_t first, end;

    if (!thread)
        return 0;
    calls_between(&replay->events, removal->thread, removal->from_ns, removal->to_ns, &first, &end);
    for (uint32_t call = first; call < end; call++)
        for (size_t i = 0; i < COUNT_OF(waits); i++)
            if (replay_edit_drop(edits, replay_edge_to(replay, replay_call_end(call), waits[i])) != 0)
                return ERR_NO_MEMORY;
    return advice_cut_time(replay, edits, thread, removal->from_ns, removal->to_ns, 1);
}

int removal_add(const struct call_works *works, struct replay_edits *edits, const struct removal *removal)
{
    return removal_add_time(works, edits, removal) != 0 ? ERR_NO_MEMORY : removal_add_works(works, edits, removal);
}
