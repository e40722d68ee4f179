/* What waits cost: see replay.h.
 *
 * A replay without the waits says what they cost together. A wait has a share of that if it lies on the critical path:
 * in proportion to the time from there until the GPU has work again. Waits while the GPU has more work are not on the
 * path. */
#include <string.h>

#include "replay.h"

struct weights {
    int64_t *of_call;
    int64_t since_work_ns; /* on the path, to the work that comes next */
};

static void weigh(void *context, enum replay_kind kind, int64_t lag, uint32_t to)
{
    struct weights *weights = context;

    weights->since_work_ns = kind == REPLAY_RUN ? 0 : saturating_add(weights->since_work_ns, lag);
    if (kind == REPLAY_WAIT)
        weights->of_call[replay_call_of(to)] = weights->since_work_ns;
}

/* Leaves the weights of these calls. If none is on the path, their durations are the weights. Returns the sum. */
static double choose_weights(const struct replay *replay, int (*choose)(void *, const struct replay_call *),
                             void *context, int64_t *weight)
{
    const struct replay_events *events = &replay->events;
    double on_path = 0, durations = 0;

    for (uint32_t i = 0; i < events->call_count; i++) {
        const struct replay_call *call = &events->calls[i];
        int is_chosen = call->wait == REPLAY_WAITED && choose(context, call);
        weight[i] = is_chosen ? weight[i] : 0;
        on_path += (double)weight[i];
        durations += is_chosen ? (double)saturating_duration(call->start_ns, call->end_ns) : 0;
    }
    if (on_path > 0)
        return on_path;
    for (uint32_t i = 0; i < events->call_count; i++)
        if (events->calls[i].wait == REPLAY_WAITED && choose(context, &events->calls[i]))
            weight[i] = saturating_duration(events->calls[i].start_ns, events->calls[i].end_ns);
    return durations;
}

int replay_wait_costs(struct replay *replay, int (*choose)(void *context, const struct replay_call *call),
                      void *context, int64_t *out, struct error *err)
{
    struct weights weights = { .of_call = out };
    struct replay_edits edits = { 0 };
    struct replay_result result;
    int code;

    memset(out, 0, replay->events.call_count * sizeof *out);
    if (!replay->graph.points)
        return 0;
    if ((code = replay_run(replay, NULL, &result, err)) != 0)
        return code;
    replay_graph_path(&replay->graph, replay->times, result.last, weigh, &weights);
    if ((code = replay_drop_waits(replay, choose, context, &edits, err)) != 0 ||
        (code = replay_run(replay, REPLAY_EDITS(&edits), &result, err)) != 0)
        goto free_edits;
    double saving = (double)saturating_subtract(result.measured_ns, result.replayed_ns),
           sum = choose_weights(replay, choose, context, out);
    for (uint32_t i = 0; i < replay->events.call_count; i++)
        out[i] = saving > 0 && sum > 0 ? saturating_from_double(saving * ((double)out[i] / sum)) : 0;
free_edits:
    replay_edits_free(&edits);
    return code;
}
