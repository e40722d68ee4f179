/* Runs of a replay: see replay.h. */
#include <stdlib.h>

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
    struct replay_result *result = context;

    result->path_ns[kind] = saturating_add(result->path_ns[kind], lag);
    result->before_path_ns = saturating_subtract(result->before_path_ns, lag);
}

static void run(struct replay *replay, struct replay_result *out)
{
    const struct replay_graph *graph = &replay->graph;

    replay_graph_run(graph, replay->times);
    out->last = last_point(replay->times, graph->points);
    out->measured_ns = length_of(graph->time, graph->points, last_point(graph->time, graph->points));
    out->replayed_ns = out->before_path_ns = length_of(replay->times, graph->points, out->last);
    replay_graph_path(graph, replay->times, out->last, add_to_kind, out);
}

int replay_run(struct replay *replay, const struct replay_edits *const *lists, struct replay_result *out,
               struct error *err)
{
    static const struct replay_edits *const none[] = { NULL };
    struct replay_graph *graph = &replay->graph;
    int64_t *undo = NULL;

    *out = (struct replay_result){ 0 };
    lists = lists ? lists : none;
    if (!replay->times)
        replay->times = malloc((graph->points + 1) * sizeof *replay->times);
    if (!replay->times || replay_edits_make(graph, lists, &undo) != 0)
        return error_set(err, ERR_NO_MEMORY, "not enough memory to replay the report");
    if (graph->points)
        run(replay, out);
    replay_edits_take_back(graph, lists, undo);
    free(undo);
    return 0;
}
