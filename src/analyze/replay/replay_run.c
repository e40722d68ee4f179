/* Runs of a replay: see replay.h. */
#include <stdlib.h>

#include "base/array.h"
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

static void add_to_kind(void *context, enum replay_kind kind, int64_t lag, uint32_t to)
{
    struct replay_result *result = context;

    result->path_ns[kind] = saturating_add(result->path_ns[kind], lag);
    result->before_path_ns = saturating_subtract(result->before_path_ns, lag);
}

/* Points are placed in the order in which they were measured. */
static int64_t measured(const struct replay_graph *graph)
{
    return saturating_duration(graph->measured[0], graph->measured[graph->points - 1]);
}

static int replay_run_edits(struct replay *replay, const struct replay_edits *const *lists, int with_path,
                            struct replay_result *out)
{
    static const struct replay_edits *const none[] = { NULL };
    struct replay_graph *graph = &replay->graph;
    int64_t *undo = NULL;

    *out = (struct replay_result){ 0 };
    lists = lists ? lists : none;
    if (!replay->times)
        replay->times = array_alloc(graph->points + 1, sizeof *replay->times);
    if (!replay->times || replay_edits_make(graph, lists, &undo) != 0)
        return ERR_NO_MEMORY;
    if (graph->points) {
        struct replay_graph_span span = replay_graph_run(graph, replay->times);
        out->last = span.last;
        out->measured_ns = measured(graph);
        out->replayed_ns = out->before_path_ns = saturating_duration(span.first_ns, span.last_ns);
        if (with_path)
            replay_graph_path(graph, replay->times, span.last, add_to_kind, out);
    }
    replay_edits_take_back(graph, lists, undo);
    free(undo);
    return 0;
}

static int replay_run_no_memory(struct error *err)
{
    return error_short_memory(err, "to replay the report");
}

int replay_run(struct replay *replay, const struct replay_edits *const *lists, struct replay_result *out,
               struct error *err)
{
    return replay_run_edits(replay, lists, 1, out) == 0 ? 0 : replay_run_no_memory(err);
}

int replay_run_times(struct replay *replay, const struct replay_edits *const *lists, struct replay_result *out,
                     struct error *err)
{
    return replay_run_edits(replay, lists, 0, out) == 0 ? 0 : replay_run_no_memory(err);
}
