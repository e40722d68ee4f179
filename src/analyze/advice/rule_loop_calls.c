/* The rule loop_calls: calls that belong before the loop are made in each step: they allocate or free memory, or load
 * code. cudaFree waits for the GPU, too. Bound and estimate: the calls are gone, and with them their waits. A call in
 * one step only is no habit of the loop: a kernel that runs for the first time is loaded once.
 *
 * A pool gives memory that was freed in a stream (cudaFreeAsync) back to the system when the program next waits, unless
 * it is told to keep it. So the wait ends later, and that time belongs to the memory, too. */
#include <string.h>

#include "advice_groups.h"
#include "analyze/engine/name_classes.h"
#include "analyze/registry.h"
#include "analyze/replay/call_uses.h"

/* A wait that gives no memory back returns so soon after the work that it waits for. */
enum { RETURN_NS = 10000 };

#define KEEPS "cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, …)."
static const char
    for_pools[] = "Allocate once and reuse the memory, or let the pool keep it: " KEEPS,
    for_pools_of_torch[] = "Allocate once and reuse the memory. PyTorch's own allocator calls CUDA seldom "
                           "(PYTORCH_CUDA_ALLOC_CONF=backend:native, the default); a pool of another "
                           "library keeps memory if it is told to: " KEEPS;

/* Other uses are as they should be. */
static const struct {
    const char *what, *advice;
} faults[CALL_USES] = {
    [USE_MEMORY] = { "memory is allocated or freed in the loop",
                     "Allocate once and reuse the memory. In PyTorch, remove torch.cuda.empty_cache() from the loop, "
                     "and keep the sizes of tensors the same." },
    [USE_CODE] = { "code is loaded in the loop",
                   "Run all kernels and shapes once before the loop. CUDA_MODULE_LOADING=EAGER loads the kernels of "
                   "libraries at the start, but none that is compiled at run time (Triton, NVRTC)." },
};

static int loop_calls_use_of(const void *context, uint32_t name)
{
    const struct adviser *adviser = context;

    return (int)call_use_of(report_string(adviser->report, *keys_get(&adviser->replay.events.names, name), NULL));
}

static int is_pool_call(const struct adviser *adviser, const struct replay_call *call, const char *what)
{
    const char *name = report_string(adviser->report, *keys_get(&adviser->replay.events.names, call->name), NULL);

    return strstr(name, what) != NULL;
}

static int loop_calls_add_call(struct advice_groups *groups, uint32_t at, enum call_use use)
{
    struct adviser *adviser = groups->adviser;
    const struct replay_call *call = &adviser->replay.events.calls[at];
    struct advice_event event = { .thread = adviser->replay.events.threads[call->thread].id,
                                  .start_ns = call->start_ns,
                                  .end_ns = call->end_ns,
                                  .kind = use == USE_MEMORY && is_pool_call(adviser, call, "Async") };
    uint32_t group = advice_group(groups, use, 0);

    event.place = places_line(groups->places, places_at(groups->places, event.thread, call->start_ns, call->end_ns));
    if (group == NO_KEY || (adviser_counts(adviser, call) && advice_group_note(groups, group, &event) != 0))
        return ERR_NO_MEMORY;
    struct advice_cause *cause = &groups->list[group].cause;
    if (advice_call_vanish(&adviser->replay, &cause->bound, at) != 0)
        return ERR_NO_MEMORY;
    return advice_call_vanish(&adviser->replay, &cause->estimate, at);
}

/* Whether the calls of a thread so far have freed memory in a stream that no wait has given back yet. */
struct loop_calls_pool {
    uint32_t thread;
    int has_freed;
};

/* The time that a wait takes to give memory back. */
static int cut_release(struct advice_groups *groups, uint32_t at)
{
    const struct replay *replay = &groups->adviser->replay;
    uint32_t edge = replay_edge_to(replay, replay_call_end(at), REPLAY_WAIT),
             group = advice_group(groups, USE_MEMORY, 0);
    int64_t release_ns = edge == REPLAY_NO_EDGE ? 0 : saturating_subtract(replay->graph.lag[edge], RETURN_NS);

    if (group == NO_KEY)
        return ERR_NO_MEMORY;
    struct advice_cause *cause = &groups->list[group].cause;
    if (release_ns <= 0 || !adviser_changes(groups->adviser, &replay->events.calls[at]))
        return 0;
    if (replay_edit_cut(&cause->bound, edge, release_ns) != 0)
        return ERR_NO_MEMORY;
    return replay_edit_cut(&cause->estimate, edge, release_ns);
}

static int follow_pool(struct advice_groups *groups, struct loop_calls_pool *pool, uint32_t at, enum call_use use)
{
    const struct replay_call *call = &groups->adviser->replay.events.calls[at];
    int code = 0;

    if (call->thread != pool->thread)
        *pool = (struct loop_calls_pool){ .thread = call->thread };
    if (use == USE_MEMORY && is_pool_call(groups->adviser, call, "FreeAsync"))
        pool->has_freed = 1;
    if (pool->has_freed && call->wait == REPLAY_WAITED) {
        code = cut_release(groups, at);
        pool->has_freed = 0;
    }
    return code;
}

static int loop_calls_add_calls(struct advice_groups *groups)
{
    struct adviser *adviser = groups->adviser;
    const struct replay_events *events = &adviser->replay.events;
    struct loop_calls_pool pool = { 0 };
    struct name_classes uses;
    int code = name_classes_open(&uses, events->names.count, loop_calls_use_of, adviser);

    for (uint32_t i = 0; i < events->call_count && code == 0; i++) {
        enum call_use use = (enum call_use)name_class(&uses, events->calls[i].name);
        if (faults[use].what && adviser_changes(adviser, &events->calls[i]))
            code = loop_calls_add_call(groups, i, use);
        code = code != 0 ? code : follow_pool(groups, &pool, i, use);
    }
    name_classes_free(&uses);
    return code;
}

static int loop_calls_describe(struct advice_groups *groups, uint32_t group)
{
    struct advice_cause *cause = &groups->list[group].cause;
    int64_t use = keys_get(&groups->keys, group)[0], is_pool;
    uint32_t place;

    if (!cause->count)
        return 0;
    advice_group_most(groups, group, &place, &is_pool);
    text_add(&cause->what, faults[use].what);
    advice_cause_figure(cause, FIGURE_TIMES);
    place_text(&cause->where, groups->places, place);
    cause->advice = !is_pool                              ? faults[use].advice
                    : adviser_uses_torch(groups->adviser) ? for_pools_of_torch
                                                          : for_pools;
    return 1;
}

/* Without steps the start of the program counts, in which such calls are as they should be. */
static int find_loop_calls(struct adviser *adviser, struct error *err)
{
    struct advice_groups groups;
    int code;

    if (!adviser->steps->count)
        return 0;
    if ((code = advice_groups_open(&groups, adviser, err)) != 0)
        goto free_groups;
    if (loop_calls_add_calls(&groups) != 0 && (code = error_short_memory(err, "for the calls in the loop")) != 0)
        goto free_groups;
    code = advice_groups_add(&groups, 0, loop_calls_describe, err);
free_groups:
    advice_groups_free(&groups);
    return code;
}

const struct analysis rule_loop_calls = {
    .name = "loop_calls",
    .title = "Allocations and Loading in the Loop",
    .help = "CUDA calls in steps that allocate or free memory (cudaMalloc, cudaFree, cudaHostAlloc), or load code. The "
            "saving is that of a replay without these calls and their waits. Needs steps.",
    .needs = ADVICE_NEEDS,
    ADVICE_RULE(loop_calls, .advice = "Allocate memory and load code before the loop.",
                .praise = "No memory is allocated and no code is loaded in the steps."),
};
