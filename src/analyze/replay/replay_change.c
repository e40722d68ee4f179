/* Changes to the lags of a replay, and the run with them: see replay.h. */
#include <stdlib.h>
#include <string.h>

#include "replay.h"

const char *const replay_kind_names[REPLAY_KINDS] = {
    [REPLAY_HOST] = "CPU between CUDA calls",
    [REPLAY_CALL] = "CUDA calls",
    [REPLAY_LAUNCH] = "launch to start on the GPU",
    [REPLAY_STREAM] = "gaps between work of a stream",
    [REPLAY_EVENT] = "gaps behind other streams",
    [REPLAY_DEVICE] = "waits for room on the device",
    [REPLAY_RUN] = "GPU work",
    [REPLAY_WAIT] = "return from waits",
    [REPLAY_QUEUE] = "return from a full queue",
    [REPLAY_HANDOVER] = "hand-over between threads",
};

void replay_reset(struct replay *replay)
{
    free(replay->lags);
    replay->lags = NULL;
}

int replay_open_lags(struct replay *replay, struct error *err)
{
    size_t bytes = replay->graph.edges * sizeof *replay->lags;

    if (replay->lags)
        return 0;
    replay->lags = malloc(bytes + 1);
    if (!replay->lags)
        return error_set(err, ERR_NO_MEMORY, "not enough memory to change the replay");
    if (bytes)
        memcpy(replay->lags, replay->graph.lag, bytes);
    return 0;
}

int replay_drop_waits(struct replay *replay, int (*choose)(void *context, const struct replay_call *call),
                      void *context, struct error *err)
{
    const struct replay_graph *graph = &replay->graph;
    const struct replay_events *events = &replay->events;
    int code = replay_open_lags(replay, err);

    if (code != 0)
        return code;
    for (uint32_t i = 0; i < events->call_count; i++) {
        if (events->calls[i].wait == REPLAY_NO_WAIT || !choose(context, &events->calls[i]))
            continue;
        uint32_t end = replay_call_end(i);
        for (uint32_t edge = graph->first[end]; edge < graph->first[end + 1]; edge++)
            if (graph->kind[edge] == REPLAY_WAIT)
                replay->lags[edge] = REPLAY_DROPPED;
    }
    return 0;
}

static int64_t scaled(int64_t lag, double factor)
{
    return lag == REPLAY_DROPPED ? lag : saturating_from_double((double)lag * factor);
}

int replay_scale_work(struct replay *replay, int (*choose)(void *context, const struct replay_work *work),
                      void *context, double factor, struct error *err)
{
    const struct replay_graph *graph = &replay->graph;
    const struct replay_events *events = &replay->events;
    int code = replay_open_lags(replay, err);

    if (code != 0)
        return code;
    for (uint32_t i = 0; i < events->work_count; i++) {
        uint32_t start = replay_work_start(replay, i), end = replay_work_end(replay, i);
        for (uint32_t edge = graph->first[start]; edge < graph->first[end]; edge++) /* the same share of the other */
            if (graph->kind[edge] == REPLAY_DEVICE &&
                choose(context, &events->works[replay_work_of(replay, graph->from[edge])]))
                replay->lags[edge] = scaled(replay->lags[edge], factor);
        if (choose(context, &events->works[i]))
            replay->lags[graph->first[end]] = scaled(replay->lags[graph->first[end]], factor); /* the only edge */
    }
    return 0;
}

int replay_cut_host(struct replay *replay, int64_t (*cut)(void *context, uint32_t call, int64_t from_ns, int64_t to_ns),
                    void *context, struct error *err)
{
    const struct replay_graph *graph = &replay->graph;
    int code = replay_open_lags(replay, err);

    if (code != 0)
        return code;
    for (uint32_t i = 0; i < replay->events.call_count; i++) {
        uint32_t start = replay_call_start(i);
        for (uint32_t edge = graph->first[start]; edge < graph->first[start + 1]; edge++) {
            int64_t lag = replay->lags[edge],
                    less = cut(context, i, graph->time[graph->from[edge]], graph->time[start]);
            if (lag != REPLAY_DROPPED && less > 0)
                replay->lags[edge] = lag > less ? lag - less : 0;
        }
    }
    return 0;
}

int replay_level_lags(struct replay *replay, struct error *err)
{
    static const int typical[REPLAY_KINDS] = {
        [REPLAY_LAUNCH] = 1 + TYPICAL_LAUNCH, [REPLAY_STREAM] = 1 + TYPICAL_GAP, [REPLAY_EVENT] = 1 + TYPICAL_GAP
    };
    const struct replay_graph *graph = &replay->graph;
    const struct replay_events *events = &replay->events;
    int code = replay_open_lags(replay, err);

    if (code != 0)
        return code;
    for (uint32_t i = 0; i < events->work_count; i++) {
        int table = replay_table_of(events, events->works[i].at);
        uint32_t start = replay_work_start(replay, i), end = replay_work_end(replay, i);
        for (uint32_t edge = graph->first[start]; edge < graph->first[end]; edge++)
            if (typical[graph->kind[edge]])
                replay->lags[edge] = replay->typical_ns[typical[graph->kind[edge]] - 1][table];
    }
    return 0;
}

static uint32_t last_point(const int64_t *times, size_t count)
{
    uint32_t last = 0;

    for (uint32_t i = 1; i < count; i++)
        last = times[i] > times[last] ? i : last;
    return last;
}

/* From the first point to the last. */
static int64_t length_of(const int64_t *times, size_t count, uint32_t last)
{
    int64_t first = times[last];

    for (size_t i = 0; i < count; i++)
        first = times[i] < first ? times[i] : first;
    return saturating_duration(first, times[last]);
}

static void add_to_kind(void *context, enum replay_kind kind, int64_t lag, uint32_t to)
{
    int64_t *by_kind = context;

    by_kind[kind] = saturating_add(by_kind[kind], lag);
}

int replay_run(struct replay *replay, struct replay_result *out, struct error *err)
{
    const struct replay_graph *graph = &replay->graph;

    *out = (struct replay_result){ 0 };
    if (!replay->times)
        replay->times = malloc((graph->points + 1) * sizeof *replay->times);
    if (!replay->times)
        return error_set(err, ERR_NO_MEMORY, "not enough memory to replay the report");
    if (!graph->points)
        return 0;
    replay_graph_run(graph, replay->lags, replay->times);
    out->last = last_point(replay->times, graph->points);
    out->measured_ns = length_of(graph->time, graph->points, last_point(graph->time, graph->points));
    out->replayed_ns = length_of(replay->times, graph->points, out->last);
    replay_graph_path(graph, replay->lags, replay->times, out->last, add_to_kind, out->path_ns);
    return 0;
}
