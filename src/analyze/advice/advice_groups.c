/* Groups of causes: see advice_groups.h. */
#include "advice_groups.h"

#include <stdlib.h>

#include "base/array.h"

enum { GROUP_PARTS = 2 };
enum { TALLY_GROUP, TALLY_PLACE, TALLY_KIND, TALLY_PARTS };

int advice_groups_open(struct advice_groups *groups, struct adviser *adviser, struct error *err)
{
    *groups = (struct advice_groups){ .adviser = adviser, .keys.width = GROUP_PARTS, .tally_keys.width = TALLY_PARTS };
    return adviser_places(adviser, &groups->places, err);
}

void advice_groups_free(struct advice_groups *groups)
{
    for (size_t i = 0; i < groups->keys.count; i++)
        advice_cause_free(&groups->list[i].cause);
    free(groups->list);
    free(groups->tally_ns);
    keys_free(&groups->keys);
    keys_free(&groups->tally_keys);
}

uint32_t advice_group(struct advice_groups *groups, int64_t a, int64_t b)
{
    /* room comes first: every key must have an entry */
    if (array_reserve_zeroed(&groups->list, &groups->room, groups->keys.count + 1, sizeof *groups->list) != 0)
        return NO_KEY;
    return keys_add(&groups->keys, (int64_t[GROUP_PARTS]){ a, b });
}

static void note_step(struct advice_group *group, const struct adviser *adviser, const struct advice_event *event)
{
    uint32_t step = adviser->steps->count
                        ? steps_period_at(adviser->steps, global_process(event->thread), event->start_ns)
                        : NO_STEP;

    group->is_repeated |= step == NO_STEP || (group->step && group->step != step + 1);
    group->step = step + 1;
}

int advice_group_note(struct advice_groups *groups, uint32_t group, const struct advice_event *event)
{
    struct advice_group *own = &groups->list[group];
    int64_t length = saturating_duration(event->start_ns, event->end_ns);
    int64_t key[TALLY_PARTS] = { [TALLY_GROUP] = group, [TALLY_PLACE] = event->place, [TALLY_KIND] = event->kind };

    if (array_reserve_zeroed(&groups->tally_ns, &groups->tally_room, groups->tally_keys.count + 1,
                             sizeof *groups->tally_ns) != 0)
        return ERR_NO_MEMORY;
    uint32_t tally = keys_add(&groups->tally_keys, key);
    if (tally == NO_KEY)
        return ERR_NO_MEMORY;
    note_step(own, groups->adviser, event);
    groups->tally_ns[tally] = saturating_add(groups->tally_ns[tally], length);
    own->total_ns = saturating_add(own->total_ns, length);
    own->cause.count++;
    if (length <= own->cause.duration_ns && own->cause.count > 1)
        return 0;
    own->cause.duration_ns = length;
    own->cause.start_ns = event->start_ns;
    own->cause.thread = event->thread;
    return 0;
}

void advice_group_most(const struct advice_groups *groups, uint32_t group, uint32_t *place, int64_t *kind)
{
    int64_t most = -1;

    *place = NO_PLACE;
    *kind = 0;
    for (uint32_t i = 0; i < groups->tally_keys.count; i++) {
        const int64_t *key = keys_get(&groups->tally_keys, i);
        if (key[TALLY_GROUP] != group || groups->tally_ns[i] <= most)
            continue;
        most = groups->tally_ns[i];
        *place = (uint32_t)key[TALLY_PLACE];
        *kind = key[TALLY_KIND];
    }
}

size_t advice_group_kinds(const struct advice_groups *groups, uint32_t group)
{
    size_t count = 0;

    for (uint32_t i = 0; i < groups->tally_keys.count; i++)
        count += keys_get(&groups->tally_keys, i)[TALLY_GROUP] == group;
    return count;
}

int64_t advice_least(const struct adviser *adviser)
{
    int64_t least_ns = saturating_multiply(adviser->step_ns, adviser->thresholds[THRESHOLD_SAVING]) / 100;

    return saturating_multiply(least_ns, (int64_t)adviser->step_count);
}

/* If there are few steps, one may be enough. */
static int is_habit(const struct advice_groups *groups, const struct advice_group *group)
{
    enum { FEW_STEPS = 4 };

    return group->is_repeated || groups->adviser->step_count < FEW_STEPS;
}

/* The largest group that was not taken yet, or NO_KEY. */
static uint32_t advice_groups_largest(const struct advice_groups *groups, int64_t least_ns)
{
    uint32_t best = NO_KEY;

    for (uint32_t i = 0; i < groups->keys.count; i++)
        if (!groups->list[i].is_taken && groups->list[i].total_ns >= least_ns && is_habit(groups, &groups->list[i]) &&
            (best == NO_KEY || groups->list[i].total_ns > groups->list[best].total_ns))
            best = i;
    return best;
}

int advice_groups_add(struct advice_groups *groups, int64_t least_ns,
                      int (*describe)(struct advice_groups *groups, uint32_t group), struct error *err)
{
    int code;

    for (int i = 0; i < MOST_GROUPS; i++) {
        uint32_t group = advice_groups_largest(groups, least_ns);
        if (group == NO_KEY)
            return 0;
        struct advice_group *own = &groups->list[group];
        own->is_taken = 1;
        own->cause.total_ns = own->total_ns;
        if (!describe(groups, group))
            continue;
        struct advice_cause cause = own->cause;
        own->cause = (struct advice_cause){ 0 };
        if ((code = adviser_add(groups->adviser, &cause, err)) != 0)
            return code;
    }
    return 0;
}

/* ---- time of threads ------------------------------------------------------------------------------------------- */

/* How much of the time between two points lies in the wanted time. */
static int64_t advice_groups_overlap(const struct replay *replay, uint32_t edge, uint32_t to, int64_t from_ns,
                                     int64_t to_ns)
{
    int64_t start = replay_edge_start(replay, edge), end = replay_measured(replay, to);

    start = start > from_ns ? start : from_ns;
    end = end < to_ns ? end : to_ns;
    return start < end ? saturating_duration(start, end) : 0;
}

static int cut_edge(const struct replay *replay, struct replay_edits *edits, uint32_t to, enum replay_kind kind,
                    const int64_t *wanted)
{
    uint32_t edge = replay_edge_to(replay, to, kind);
    int64_t cut_ns = edge == REPLAY_NO_EDGE ? 0 : advice_groups_overlap(replay, edge, to, wanted[0], wanted[1]);

    return cut_ns > 0 ? replay_edit_cut(edits, edge, cut_ns) : 0;
}

const struct replay_thread *advice_thread(const struct adviser *adviser, int64_t thread, int64_t time_ns)
{
    return adviser_counts_at(adviser, thread, time_ns) ? replay_thread_of(&adviser->replay.events, thread) : NULL;
}

int advice_cut_time(const struct replay *replay, struct replay_edits *edits, const struct replay_thread *thread,
                    int64_t from_ns, int64_t to_ns, int with_calls)
{
    const struct replay_events *events = &replay->events;
    const int64_t wanted[] = { from_ns, to_ns };
    uint32_t call = replay_call_from(events, thread, from_ns);

    if (call > thread->first) /* it may end in the time */
        call--;
    for (; call < thread->end; call++) {
        if (cut_edge(replay, edits, replay_call_start(call), REPLAY_HOST, wanted) != 0 ||
            cut_edge(replay, edits, replay_call_start(call), REPLAY_HANDOVER, wanted) != 0)
            return ERR_NO_MEMORY;
        if (events->calls[call].start_ns >= to_ns)
            return 0;
        if (with_calls && cut_edge(replay, edits, replay_call_end(call), REPLAY_CALL, wanted) != 0)
            return ERR_NO_MEMORY;
    }
    return 0;
}

int advice_call_vanish(const struct replay *replay, struct replay_edits *edits, uint32_t call)
{
    static const enum replay_kind waits[] = { REPLAY_WAIT, REPLAY_QUEUE };
    uint32_t edge = replay_edge_to(replay, replay_call_end(call), REPLAY_CALL);

    for (size_t i = 0; i < COUNT_OF(waits); i++)
        if (replay_edit_drop(edits, replay_edge_to(replay, replay_call_end(call), waits[i])) != 0)
            return ERR_NO_MEMORY;
    return edge == REPLAY_NO_EDGE ? 0 : replay_edit_cut(edits, edge, replay->graph.lag[edge]);
}
