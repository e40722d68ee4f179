/* The rule launch_bound: the GPU waits for the CPU to launch its kernels.
 *
 * Bound: threads that launch kernels take no time for it, neither between their calls, up to 2 ms, nor in them; and
 * kernels follow each other at once, since those of a graph have shorter gaps.
 * Estimate: CUDA graphs, or compiled code. A graph ends where the program reads a result, so that the first launch of a
 * step and the first one after each read remain, and so does the time before the read. Other launches, and other times
 * between calls of up to 200 µs, go; longer ones are other code, which remains. */
#include <stdlib.h>
#include <string.h>

#include "adviser.h"
#include "analyze/registry.h"
#include "base/human.h"

/* Between two calls: the way from one launch to the next, and the most that could be such a way. */
enum { SHORT_NS = 200000, LONG_NS = 10 * SHORT_NS };
/* Between two kernels of a stream: a longer gap is no matter of launches. */
enum { SHORT_GAP_NS = 20000 };

struct launch_bound_launches {
    struct adviser *adviser;
    struct advice_cause cause;
    uint8_t *launches;         /* owned; by call: whether it launches kernels */
    uint8_t *reads;            /* owned; by call: whether it waits for the GPU, or copies from it */
    int64_t kernels;           /* that count */
    int64_t of_graphs;         /* launches of CUDA graphs, and kernels in them */
    int64_t kernel_ns;
    struct report_span *spans; /* owned; by step, and one for calls of no step: from its first launch to its last */
    int64_t longest_host_ns;
    uint32_t last_step;        /* of the last launch */
};

static int is_kernel(const struct replay_events *events, const struct replay_work *work)
{
    int table = replay_table_of(events, work->at);

    return work->call != NO_CALL && (table == REPLAY_KERNEL || table == REPLAY_GRAPH);
}

static void note_launch(struct launch_bound_launches *launches, const struct replay_call *call)
{
    uint32_t step = adviser_step(launches->adviser, call);
    struct report_span *span = &launches->spans[step == NO_STEP ? launches->adviser->steps->count : step];

    int is_first = span->from_ns == span->to_ns;

    span->from_ns = is_first || call->start_ns < span->from_ns ? call->start_ns : span->from_ns;
    span->to_ns = is_first || call->end_ns > span->to_ns ? call->end_ns : span->to_ns;
}

/* How long a step launches: threads may do so at the same time, so that their times do not add up. */
static int64_t launching_ns(const struct launch_bound_launches *launches)
{
    int64_t all = 0;

    for (size_t i = 0; i <= launches->adviser->steps->count; i++)
        all = saturating_add(all, saturating_duration(launches->spans[i].from_ns, launches->spans[i].to_ns));
    return all / (int64_t)launches->adviser->step_count;
}

static int launches_graph(const struct adviser *adviser, const struct replay_call *call)
{
    const char *name = report_string(adviser->report, *keys_get(&adviser->replay.events.names, call->name), NULL);

    return strstr(name, "GraphLaunch") != NULL;
}

static int count_kernels(struct launch_bound_launches *launches)
{
    const struct replay_events *events = &launches->adviser->replay.events;

    launches->launches = calloc(events->call_count + 1u, 1);
    launches->reads = calloc(events->call_count + 1u, 1);
    launches->spans = calloc(launches->adviser->steps->count + 1, sizeof *launches->spans);
    if (!launches->launches || !launches->reads || !launches->spans)
        return ERR_NO_MEMORY;
    for (uint32_t i = 0; i < events->call_count; i++)
        launches->reads[i] = events->calls[i].wait == REPLAY_WAITED || events->calls[i].wait == REPLAY_READY;
    for (uint32_t i = 0; i < events->work_count; i++) {
        const struct replay_work *work = &events->works[i];
        if (work->call != NO_CALL && replay_engine_of(events, work) == REPLAY_FROM_GPU)
            launches->reads[work->call] = 1;
        if (!is_kernel(events, work) || !adviser_counts(launches->adviser, &events->calls[work->call]))
            continue;
        launches->launches[work->call] = 1;
        note_launch(launches, &events->calls[work->call]);
        launches->kernels++;
        launches->of_graphs += launches_graph(launches->adviser, &events->calls[work->call]);
        launches->kernel_ns = saturating_add(launches->kernel_ns, saturating_duration(work->start_ns, work->end_ns));
    }
    return 0;
}

/* Remembers the longest time between two calls as the place to look at. */
static void note_host(struct launch_bound_launches *launches, uint32_t call, int64_t host_ns)
{
    const struct replay_events *events = &launches->adviser->replay.events;

    if (host_ns <= launches->longest_host_ns || host_ns > SHORT_NS)
        return;
    launches->longest_host_ns = host_ns;
    launches->cause.start_ns = saturating_subtract(events->calls[call].start_ns, host_ns);
    launches->cause.duration_ns = host_ns;
    launches->cause.thread = events->threads[events->calls[call].thread].id;
}

/* The first launch of a step remains: it is the launch of the graph. So does the first one after a result was read: a
 * graph ends there. */
static int is_first_of_graph(struct launch_bound_launches *launches, uint32_t call)
{
    uint32_t step = adviser_step(launches->adviser, &launches->adviser->replay.events.calls[call]);
    int is_first = step != launches->last_step;

    launches->last_step = step;
    return is_first;
}

static int cut_call(struct launch_bound_launches *launches, uint32_t call)
{
    static const enum replay_kind before[] = { REPLAY_HOST, REPLAY_HANDOVER };
    const struct replay *replay = &launches->adviser->replay;
    struct advice_cause *cause = &launches->cause;
    int stays = launches->launches[call] && is_first_of_graph(launches, call);

    for (size_t i = 0; i < COUNT_OF(before); i++) {
        uint32_t edge = replay_edge_to(replay, replay_call_start(call), before[i]);
        int64_t host_ns = edge == REPLAY_NO_EDGE ? 0 : replay->graph.lag[edge];
        if (host_ns <= 0 || host_ns > LONG_NS)
            continue;
        note_host(launches, call, host_ns);
        if (replay_edit_cut(&cause->bound, edge, host_ns) != 0 ||
            (host_ns <= SHORT_NS && !launches->reads[call] && replay_edit_cut(&cause->estimate, edge, host_ns) != 0))
            return ERR_NO_MEMORY;
    }
    if (launches->reads[call])
        launches->last_step = NO_STEP - 1;
    if (!launches->launches[call])
        return 0;
    uint32_t edge = replay_edge_to(replay, replay_call_end(call), REPLAY_CALL);
    int64_t call_ns = edge == REPLAY_NO_EDGE ? 0 : replay->graph.lag[edge];
    if (replay_edit_cut(&cause->bound, edge, call_ns) != 0 ||
        (!stays && replay_edit_cut(&cause->estimate, edge, call_ns) != 0))
        return ERR_NO_MEMORY;
    return 0;
}

static int cut_thread(struct launch_bound_launches *launches, const struct replay_thread *thread)
{
    const struct replay_events *events = &launches->adviser->replay.events;
    int has_launches = 0;

    for (uint32_t call = thread->first; call < thread->end && !has_launches; call++)
        has_launches = launches->launches[call];
    for (uint32_t call = thread->first; has_launches && call < thread->end; call++)
        if (adviser_counts(launches->adviser, &events->calls[call]) && cut_call(launches, call) != 0)
            return ERR_NO_MEMORY;
    return 0;
}

static int cut_calls(struct launch_bound_launches *launches)
{
    const struct replay_events *events = &launches->adviser->replay.events;

    for (uint32_t i = 0; i < events->thread_count; i++)
        if (cut_thread(launches, &events->threads[i]) != 0)
            return ERR_NO_MEMORY;
    return 0;
}

/* Cuts the gap between a kernel and the work before it. */
static int cut_gap(struct launch_bound_launches *launches, uint32_t work)
{
    const struct replay *replay = &launches->adviser->replay;
    const struct replay_graph *graph = &replay->graph;
    uint32_t place = graph->place[replay_work_start(replay, work)];

    for (uint32_t edge = graph->first[place]; edge < graph->first[place + 1]; edge++)
        if (graph->kind[edge] == REPLAY_STREAM && graph->lag[edge] <= SHORT_GAP_NS &&
            replay_edit_cut(&launches->cause.bound, edge, graph->lag[edge]) != 0)
            return ERR_NO_MEMORY;
    return 0;
}

static int cut_gaps(struct launch_bound_launches *launches)
{
    const struct replay_events *events = &launches->adviser->replay.events;

    for (uint32_t i = 0; i < events->work_count; i++)
        if (is_kernel(events, &events->works[i]) && launches->launches[events->works[i].call] &&
            cut_gap(launches, i) != 0)
            return ERR_NO_MEMORY;
    return 0;
}

/* "launch-bound: 378 kernels of 12.0 µs, launched in 16.9 ms" */
static void launch_bound_describe(struct launch_bound_launches *launches)
{
    static const char
        for_torch[] = "torch.compile(mode=\"reduce-overhead\") or CUDA graphs launch all kernels at once; "
                      "larger batches and fused operators need fewer launches.",
        for_cuda[] = "CUDA graphs launch all kernels at once; larger kernels need fewer launches.",
        for_graphs[] = "Most of this is in CUDA graphs already: put more of the step into each (graph breaks of "
                       "torch.compile split them), or give them more work, such as larger batches.";
    struct text *what = &launches->cause.what;
    int64_t steps = (int64_t)launches->adviser->step_count;

    text_add(what, "launch-bound: ");
    human_count(what, (uint64_t)(launches->kernels / steps));
    text_add(what, " kernels of ");
    human_time(what, launches->kernel_ns / launches->kernels);
    text_add(what, ", launched in ");
    human_time(what, launching_ns(launches));
    launches->cause.count = launches->kernels;
    launches->cause.advice = 2 * launches->of_graphs > launches->kernels ? for_graphs
                             : adviser_uses_torch(launches->adviser)     ? for_torch
                                                                         : for_cuda;
}

/* Whether there are so many short kernels that launches may take the time. */
static int is_likely(const struct launch_bound_launches *launches)
{
    const struct adviser *adviser = launches->adviser;

    return launches->kernels > 0 &&
           launches->kernels >= adviser->thresholds[THRESHOLD_KERNELS] * (int64_t)adviser->step_count &&
           launches->kernel_ns / launches->kernels <= adviser->thresholds[THRESHOLD_MEAN];
}

/* Whether the launches cost enough that a change of the whole step is worth it. */
static int is_bound(struct launch_bound_launches *launches, int *out, struct error *err)
{
    struct adviser *adviser = launches->adviser;
    int64_t *step_ns = &launches->cause.estimate_step.usual_ns;
    int code = adviser_replay(adviser, &launches->cause.estimate, step_ns, err);

    *out = code == 0 && saturating_subtract(adviser->step_ns, *step_ns) >=
                            adviser->step_ns / 100 * adviser->thresholds[THRESHOLD_SHARE];
    return code;
}

static int find_launch_bound(struct adviser *adviser, struct error *err)
{
    struct launch_bound_launches launches = { .adviser = adviser, .last_step = NO_STEP - 1 };
    int is_found, code;

    if ((code = count_kernels(&launches)) != 0 || !is_likely(&launches) || (code = cut_calls(&launches)) != 0 ||
        (code = is_bound(&launches, &is_found, err)) != 0 || !is_found || (code = cut_gaps(&launches)) != 0)
        goto free_cause;
    launch_bound_describe(&launches);
    free(launches.launches);
    free(launches.reads);
    free(launches.spans);
    return adviser_add(adviser, &launches.cause, err);
free_cause:
    free(launches.launches);
    free(launches.reads);
    free(launches.spans);
    advice_cause_free(&launches.cause);
    return code == ERR_NO_MEMORY ? error_short_memory(err, "for the launches") : code;
}

const struct analysis rule_launch_bound = {
    .name = "launch_bound",
    .title = "Launch-Bound",
    .help = "Whether the GPU waits for the CPU to launch its kernels. The saving is that of a replay in which threads "
            "that launch kernels take no time for their launches and between their CUDA calls, up to 2 ms, and in "
            "which kernels follow each other at once. The estimate leaves gaps between kernels, one launch in each "
            "step and after each wait for a result, the time before such a wait, and times of more than 200 µs between "
            "two calls.",
    .needs = ADVICE_NEEDS,
    ADVICE_GENERAL_RULE(
        launch_bound,
        .advice =
            "Launch less often: CUDA graphs, torch.compile(mode=\"reduce-overhead\"), larger batches, fused operators.",
        .praise = "The GPU does not wait for launches of kernels."),
};
