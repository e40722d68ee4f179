/* Changes to the program as edits of the graph: see replay.h. */
#include "replay.h"

uint32_t replay_edge_to(const struct replay *replay, uint32_t point, enum replay_kind kind)
{
    const struct replay_graph *graph = &replay->graph;
    uint32_t place = graph->place[point];

    for (uint32_t edge = graph->first[place]; edge < graph->first[place + 1]; edge++)
        if (graph->kind[edge] == kind)
            return edge;
    return REPLAY_NO_EDGE;
}

static int replay_change_no_memory(struct error *err)
{
    return error_short_memory(err, "to change the replay");
}

int replay_drop_waits(const struct replay *replay, int (*choose)(void *context, const struct replay_call *call),
                      void *context, struct replay_edits *edits, struct error *err)
{
    const struct replay_events *events = &replay->events;

    for (uint32_t i = 0; i < events->call_count; i++)
        if (events->calls[i].wait != REPLAY_NO_WAIT && choose(context, &events->calls[i]) &&
            replay_edit_drop(edits, replay_edge_to(replay, replay_call_end(i), REPLAY_WAIT)) != 0)
            return replay_change_no_memory(err);
    return 0;
}

int replay_scale_work(const struct replay *replay, int (*choose)(void *context, const struct replay_work *work),
                      void *context, double factor, struct replay_edits *edits, struct error *err)
{
    const struct replay_graph *graph = &replay->graph;
    const struct replay_events *events = &replay->events;

    for (uint32_t i = 0; i < events->work_count; i++) {
        uint32_t room = replay_edge_to(replay, replay_work_start(replay, i), REPLAY_DEVICE);
        if (room != REPLAY_NO_EDGE && /* the same share of the other */
            choose(context, &events->works[replay_work_of(replay, graph->point[graph->from[room]])]) &&
            replay_edit_scale(edits, room, factor) != 0)
            return replay_change_no_memory(err);
        if (choose(context, &events->works[i]) &&
            replay_edit_scale(edits, replay_edge_to(replay, replay_work_end(replay, i), REPLAY_RUN), factor) != 0)
            return replay_change_no_memory(err);
    }
    return 0;
}

int replay_cut_host(const struct replay *replay,
                    int64_t (*cut)(void *context, uint32_t call, int64_t from_ns, int64_t to_ns), void *context,
                    struct replay_edits *edits, struct error *err)
{
    static const enum replay_kind before[] = { REPLAY_HOST, REPLAY_HANDOVER };

    for (uint32_t i = 0; i < replay->events.call_count; i++)
        for (size_t k = 0; k < COUNT_OF(before); k++) {
            uint32_t start = replay_call_start(i), edge = replay_edge_to(replay, start, before[k]);
            int64_t less = edge == REPLAY_NO_EDGE
                               ? 0
                               : cut(context, i, replay_edge_start(replay, edge), replay_measured(replay, start));
            if (less > 0 && replay_edit_cut(edits, edge, less) != 0)
                return replay_change_no_memory(err);
        }
    return 0;
}
