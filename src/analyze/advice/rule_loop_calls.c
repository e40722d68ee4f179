/* The rule loop_calls: calls that belong before the loop are made in each step: they allocate or free memory, or load
 * code. cudaFree waits for the GPU, too. Bound and estimate: the calls are gone, and with them their waits. A call in
 * one step only is no habit of the loop: a kernel that runs for the first time is loaded once. */
#include "advice_groups.h"
#include "analyze/engine/name_classes.h"
#include "analyze/registry.h"
#include "analyze/replay/call_uses.h"

/* Other uses are as they should be. */
static const struct {
    const char *what, *advice;
} faults[CALL_USES] = {
    [USE_MEMORY] = { "memory is allocated and freed in each step",
                     "Allocate once and reuse the memory. In PyTorch, remove torch.cuda.empty_cache() from the loop, "
                     "and keep the sizes of tensors the same." },
    [USE_CODE] = { "code is loaded in the loop",
                   "Run all kernels and shapes once before the loop, or set CUDA_MODULE_LOADING=EAGER." },
};

static int loop_calls_use_of(const void *context, uint32_t name)
{
    const struct adviser *adviser = context;

    return (int)call_use_of(report_string(adviser->report, *keys_get(&adviser->replay.events.names, name), NULL));
}

static int loop_calls_add_call(struct advice_groups *groups, uint32_t at, enum call_use use)
{
    struct adviser *adviser = groups->adviser;
    const struct replay_call *call = &adviser->replay.events.calls[at];
    struct advice_event event = { .thread = adviser->replay.events.threads[call->thread].id,
                                  .start_ns = call->start_ns,
                                  .end_ns = call->end_ns };
    uint32_t group = advice_group(groups, use, 0);

    event.place = places_line(groups->places, places_at(groups->places, event.thread, call->start_ns, call->end_ns));
    if (group == NO_KEY || (adviser_counts(adviser, call) && advice_group_note(groups, group, &event) != 0))
        return ERR_NO_MEMORY;
    struct advice_cause *cause = &groups->list[group].cause;
    if (advice_call_vanish(&adviser->replay, &cause->bound, at) != 0)
        return ERR_NO_MEMORY;
    return advice_call_vanish(&adviser->replay, &cause->estimate, at);
}

static int loop_calls_add_calls(struct advice_groups *groups)
{
    struct adviser *adviser = groups->adviser;
    const struct replay_events *events = &adviser->replay.events;
    struct name_classes uses;
    int code = name_classes_open(&uses, events->names.count, loop_calls_use_of, adviser);

    for (uint32_t i = 0; i < events->call_count && code == 0; i++) {
        enum call_use use = (enum call_use)name_class(&uses, events->calls[i].name);
        if (faults[use].what && adviser_changes(adviser, &events->calls[i]))
            code = loop_calls_add_call(groups, i, use);
    }
    name_classes_free(&uses);
    return code;
}

static int loop_calls_describe(struct advice_groups *groups, uint32_t group)
{
    struct advice_cause *cause = &groups->list[group].cause;
    int64_t use = keys_get(&groups->keys, group)[0], unused;
    uint32_t place;

    if (!cause->count)
        return 0;
    advice_group_most(groups, group, &place, &unused);
    text_add(&cause->what, faults[use].what);
    advice_cause_figure(cause, FIGURE_TIMES);
    place_text(&cause->where, groups->places, place);
    cause->advice = faults[use].advice;
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
