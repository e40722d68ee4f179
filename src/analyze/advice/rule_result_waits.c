/* The rule result_waits: a thread waits for the GPU in each step, and the GPU runs dry while the next work is launched.
 *
 * Waits are grouped by the line that makes them. Bound: the line does nothing, so that its operator, its calls and its
 * copies are gone too. Estimate: it does not wait. Its operator and its copy remain, once in a step: values that a line
 * reads one by one can be read at once. A large copy goes to pinned memory. */
#include <stdlib.h>
#include <string.h>

#include "advice_copies.h"
#include "advice_groups.h"
#include "advice_operators.h"
#include "analyze/registry.h"
#include "analyze/replay/call_uses.h"
#include "base/array.h"

/* ---- kinds of waits -------------------------------------------------------------------------------------------- */

static const struct wait_kind {
    const char *operator; /* how the outermost operator's name begins; NULL: any, or none */
    const char *call;     /* in the name of the CUDA call; NULL: any */
    int is_copy;          /* it waits for a copy from the GPU */
    const char *what, *advice;
} result_waits_kinds[] = {
#define KEEP "Keep the value on the GPU (total += loss.detach()), and read it every 50 steps or so."
#define SIZE                                                                                                           \
    "The size of the result depends on the data, so that the CPU must know it. Use torch.where or a product with the " \
    "mask, compute the indices once and call index_select, or torch.nonzero_static with a fixed size, if this "        \
    "PyTorch has it for CUDA."
#define UNIQUE                                                                                                         \
    "The size of the result depends on the data, so that the CPU must know it. Call it every 50 steps or so, or use "  \
    "torch.sort, whose result is as large as its input."
/* A copy that nobody waits for may be read too early. */
#define FROM                                                                                                           \
    "Copy with non_blocking=True into pinned memory; wait for its event (torch.cuda.Event) a step later, and read it " \
    "then; or copy every 50 steps or so."
#define DEVICE                                                                                                         \
    " from the loop, unless the CPU then reads what the GPU wrote (managed memory, asynchronous copies). CUDA events " \
    "measure time without a wait."
#define EVENT "Wait on the GPU (cudaStreamWaitEvent, stream.wait_event), or later."
#define STREAM "Wait later, or every 50 steps or so: launch the work of the next step first."
    { "aten::item", NULL, 0, ".item() waits for the GPU", KEEP },
    { "aten::_local_scalar_dense", NULL, 0, ".item() waits for the GPU", KEEP },
    { "aten::is_nonzero", NULL, 0, "a condition on a tensor waits for the GPU",
      "Decide on the GPU with torch.where, or test every 50 steps or so." },
    { "aten::equal", NULL, 0, "a comparison of tensors waits for the GPU",
      "Compare on the GPU, and read the result every 50 steps or so." },
    { "aten::nonzero", NULL, 0, ".nonzero() waits for the GPU", SIZE },
    { "aten::argwhere", NULL, 0, ".argwhere() waits for the GPU", SIZE },
    { "aten::where", NULL, 0, "torch.where(mask) waits for the GPU", SIZE },
    { "aten::masked_select", NULL, 0, ".masked_select() waits for the GPU", SIZE },
    { "aten::index_put", NULL, 0, "x[mask] = … waits for the GPU",
      "Use torch.where or masked_fill_: an assignment by a mask needs the number of its elements." },
    { "aten::_index_put", NULL, 0, "x[mask] = … waits for the GPU",
      "Use torch.where or masked_fill_: an assignment by a mask needs the number of its elements." },
    { "aten::index", NULL, 0, "x[mask] waits for the GPU", SIZE },
    { "aten::unique", NULL, 0, ".unique() waits for the GPU", UNIQUE },
    { "aten::_unique", NULL, 0, ".unique() waits for the GPU", UNIQUE },
    { "aten::repeat_interleave", NULL, 0, ".repeat_interleave() waits for the GPU", "Pass output_size." },
    { "aten::", NULL, 1, "a copy to the CPU waits for the GPU", FROM },
    { NULL, "DeviceSynchronize", 0, "cudaDeviceSynchronize() waits for the GPU",
      "Remove it (torch.cuda.synchronize())" DEVICE },
    { NULL, "CtxSynchronize", 0, "cuCtxSynchronize() waits for the GPU", "Remove it" DEVICE },
    { NULL, "cuEventSynchronize", 0, "cuEventSynchronize() waits for the GPU", EVENT },
    { NULL, "EventSynchronize", 0, "cudaEventSynchronize() waits for the GPU", EVENT },
    { NULL, NULL, 1, "a copy from the GPU is waited for",
      "Copy by cudaMemcpyAsync into pinned memory; wait for its event a step later, and read it then." },
    { NULL, "cuStreamSynchronize", 0, "cuStreamSynchronize() waits for the GPU", STREAM },
    { NULL, "StreamSynchronize", 0, "cudaStreamSynchronize() waits for the GPU", STREAM },
    { NULL, NULL, 0, "a CUDA call waits for the GPU", "Wait later: launch the work of the next step first." },
};

static int64_t result_waits_kind_of(const char *operator, const char * call, int is_copy)
{
    size_t i = 0;

    while ((result_waits_kinds[i].operator&& !text_begins_with(operator, result_waits_kinds[i].operator)) ||
           (result_waits_kinds[i].call && !strstr(call, result_waits_kinds[i].call)) ||
           (result_waits_kinds[i].is_copy && !is_copy))
        i++; /* the last kind is any */
    return (int64_t)i;
}

/* Calls that wait as a side effect: other rules are about these. */
static int result_waits_is_other(const char *call)
{
    static const char *const others[] = { "cudaMemset", "cuInit", NULL };
    enum call_use use = call_use_of(call);

    return use == USE_MEMORY || use == USE_CODE || text_begins_with_one(call, others);
}

/* ---- groups ---------------------------------------------------------------------------------------------------- */

struct waits {
    struct adviser *adviser;
    struct advice_groups groups;
    struct advice_operators operators;
    uint32_t *group_of;          /* owned, as all below; by call: the group in which it is gone, or NO_KEY */
    uint8_t *is_again;           /* by call: its line waited before in the same step */
    uint32_t *last_step;         /* by group: its last step, plus 1 */
    size_t step_room;
    struct report_columns bytes; /* of copies */
    struct advice_copy_rate pinned;
};

static int waits_for_copy(const struct replay_events *events, const struct replay_call *call)
{
    return call->waits_for != NO_WORK && replay_engine_of(events, &events->works[call->waits_for]) == REPLAY_FROM_GPU;
}

static int drop_wait(const struct replay *replay, struct advice_cause *cause, uint32_t call)
{
    uint32_t edge = replay_edge_to(replay, replay_call_end(call), REPLAY_WAIT);

    return replay_edit_drop(&cause->bound, edge) != 0 || replay_edit_drop(&cause->estimate, edge) != 0 ? ERR_NO_MEMORY
                                                                                                       : 0;
}

/* Whether a line waited before in the step of a call; notes that it does now. */
static int waits_again(struct waits *waits, uint32_t group, const struct replay_call *call)
{
    uint32_t step = adviser_step(waits->adviser, call);

    if (step == NO_STEP)
        return 0;
    if (waits->last_step[group] == step + 1)
        return 1;
    waits->last_step[group] = step + 1;
    return 0;
}

/* The time of the call, or of the operator that makes it, is gone in the bound; and in the estimate, if it is not the
 * first in its step. */
static int cut_operator(struct waits *waits, struct advice_cause *cause, uint32_t at, uint32_t group,
                        const struct thread_span *operator)
{
    const struct replay *replay = &waits->adviser->replay;
    const struct replay_call *call = &replay->events.calls[at];
    const struct replay_thread *thread = &replay->events.threads[call->thread];
    int64_t start = operator? operator->start_ns : call->start_ns, end = operator? operator->end_ns : call->end_ns;

    if (waits->group_of[at] != NO_KEY) /* by another wait of the same operator */
        return 0;
    int is_again = waits_again(waits, group, call);
    uint32_t first = at;
    while (first > thread->first && replay->events.calls[first - 1].start_ns >= start)
        first--;
    for (uint32_t i = first; i < thread->end && replay->events.calls[i].start_ns < end; i++) {
        waits->group_of[i] = group;
        waits->is_again[i] = (uint8_t)is_again;
    }
    if (is_again && advice_cut_time(replay, &cause->estimate, thread, start, end, 1) != 0)
        return ERR_NO_MEMORY;
    return advice_cut_time(replay, &cause->bound, thread, start, end, 1);
}

/* The key of a group is its line; where no line is known, the kind of the wait too. */
static uint32_t group_of_wait(struct waits *waits, uint32_t place, int64_t kind)
{
    uint32_t line = places_line(waits->groups.places, place);
    int has_line = line != NO_PLACE && places_get(waits->groups.places, line).kind != PLACE_RANGE;

    return advice_group(&waits->groups, line, has_line ? -1 : kind);
}

static int result_waits_add_wait(struct waits *waits, uint32_t at, const char *name)
{
    const struct replay *replay = &waits->adviser->replay;
    const struct replay_call *call = &replay->events.calls[at];
    struct advice_event event = { .thread = replay->events.threads[call->thread].id,
                                  .start_ns = call->start_ns,
                                  .end_ns = call->end_ns };

    if (advice_operators_at(&waits->operators, event.thread, call->start_ns) != 0)
        return ERR_NO_MEMORY;
    if (advice_waits_for_copy(&replay->events, &waits->operators, at)) /* the rule copies is about these */
        return 0;
    const struct thread_span *operator= advice_operator(&waits->operators);
    event.kind = result_waits_kind_of(operator? report_string(waits->adviser->report, operator->name, NULL) : "", name,
                                      waits_for_copy(&replay->events, call));
    event.place = places_at(waits->groups.places, event.thread, call->start_ns, call->end_ns);
    /* an operator may wait twice, for its copy and for its stream: either alone saves nothing */
    uint32_t group = waits->group_of[at] != NO_KEY ? waits->group_of[at]
                                                   : group_of_wait(waits, event.place, event.kind);
    if (group == NO_KEY ||
        array_reserve_zeroed(&waits->last_step, &waits->step_room, group + 1u, sizeof *waits->last_step) != 0)
        return ERR_NO_MEMORY;
    struct advice_cause *cause = &waits->groups.list[group].cause;
    if (call->wait == REPLAY_WAITED && adviser_counts(waits->adviser, call) &&
        advice_group_note(&waits->groups, group, &event) != 0)
        return ERR_NO_MEMORY;
    return drop_wait(replay, cause, at) != 0 || cut_operator(waits, cause, at, group, operator) != 0 ? ERR_NO_MEMORY
                                                                                                     : 0;
}

/* A copy that remains goes to pinned memory. The rate does not matter for a small one. */
static int pin_copy(struct waits *waits, struct advice_cause *cause, uint32_t at)
{
    enum { LARGE_BYTES = 256 << 10 };
    const struct replay_events *events = &waits->adviser->replay.events;
    const struct replay_work *work = &events->works[at];
    int64_t bytes = advice_bytes_of(events, &waits->bytes, work);

    if (replay_memory_of(events, work) != REPLAY_PAGEABLE || bytes < LARGE_BYTES)
        return 0;
    if (cause->confidence != ADVICE_MODELLED)
        advice_rate_text(&cause->rate, &waits->pinned);
    cause->confidence = ADVICE_MODELLED;
    return advice_shorten_copy(&waits->adviser->replay, &cause->estimate, at,
                               saturating_from_double((double)bytes / waits->pinned.bytes_ns));
}

/* The copies of operators that are gone take no time, and leave no gap. */
static int cut_copies(struct waits *waits)
{
    const struct replay *replay = &waits->adviser->replay;
    const struct replay_events *events = &replay->events;

    for (uint32_t i = 0; i < events->work_count; i++) {
        const struct replay_work *work = &events->works[i];
        uint32_t group = work->call == NO_CALL ? NO_KEY : waits->group_of[work->call];
        if (group == NO_KEY || replay_table_of(events, work->at) != REPLAY_COPY)
            continue;
        struct advice_cause *cause = &waits->groups.list[group].cause;
        int is_again = waits->is_again[work->call];
        if (advice_remove_copy(replay, &cause->bound, i) != 0 ||
            (is_again ? advice_remove_copy(replay, &cause->estimate, i) : pin_copy(waits, cause, i)) != 0)
            return ERR_NO_MEMORY;
    }
    return 0;
}

static int result_waits_add_waits(struct waits *waits)
{
    const struct replay_events *events = &waits->adviser->replay.events;

    waits->group_of = malloc((events->call_count + 1u) * sizeof *waits->group_of);
    waits->is_again = calloc(events->call_count + 1u, sizeof *waits->is_again);
    if (!waits->group_of || !waits->is_again)
        return ERR_NO_MEMORY;
    memset(waits->group_of, 0xff, (events->call_count + 1u) * sizeof *waits->group_of);
    for (uint32_t i = 0; i < events->call_count; i++) {
        const struct replay_call *call = &events->calls[i];
        if ((call->wait != REPLAY_WAITED && call->wait != REPLAY_READY) || !adviser_changes(waits->adviser, call))
            continue;
        const char *name = report_string(waits->adviser->report, *keys_get(&events->names, call->name), NULL);
        if (!result_waits_is_other(name) && result_waits_add_wait(waits, i, name) != 0)
            return ERR_NO_MEMORY;
    }
    return cut_copies(waits);
}

/* ---- the rule -------------------------------------------------------------------------------------------------- */

/* What the line calls waits by itself: the user cannot keep the value. */
static const struct wait_caller {
    const char *act, *advice; /* the function of a library that the line calls */
} result_waits_callers[] = {
    { "GradScaler.step",
      "It reads whether gradients are finite. With fused=True (Adam, AdamW, SGD) the optimizer checks "
      "that on the GPU; training in bf16 needs no GradScaler." },
    { "GradScaler.get_scale", "Read the scale every 50 steps or so: GradScaler.get_scale() copies it from the GPU." },
};

static const char *result_waits_advice(const struct places *places, uint32_t place, int64_t kind)
{
    const char *act = place == NO_PLACE ? "" : places_string(places, places_get(places, place).act);

    for (size_t i = 0; i < COUNT_OF(result_waits_callers); i++)
        if (strcmp(act, result_waits_callers[i].act) == 0)
            return result_waits_callers[i].advice;
    return result_waits_kinds[kind].advice;
}

static int result_waits_describe(struct advice_groups *groups, uint32_t group)
{
    struct advice_cause *cause = &groups->list[group].cause;
    uint32_t place;
    int64_t kind;

    if (!cause->count)
        return 0;
    advice_group_most(groups, group, &place, &kind);
    text_add(&cause->what, result_waits_kinds[kind].what);
    advice_cause_figure(cause, FIGURE_TIMES);
    place_text(&cause->where, groups->places, place);
    cause->advice = result_waits_advice(groups->places, place, kind);
    return 1;
}

static int find_result_waits(struct adviser *adviser, struct error *err)
{
    struct waits waits = { .adviser = adviser };
    int code;

    if ((code = advice_groups_open(&waits.groups, adviser, err)) != 0 ||
        (code = advice_operators_open(&waits.operators, adviser->report, err)) != 0 ||
        (code = advice_copy_bytes(adviser, &waits.bytes, err)) != 0 ||
        (code = advice_pinned_rate(adviser, &waits.bytes, REPLAY_FROM_GPU, &waits.pinned, err)) != 0)
        goto done;
    if (result_waits_add_waits(&waits) != 0 && (code = error_short_memory(err, "for the waits")) != 0)
        goto done;
    code = advice_groups_add(&waits.groups, 0, result_waits_describe, err);
done:
    free(waits.group_of);
    free(waits.is_again);
    free(waits.last_step);
    report_columns_free(&waits.bytes);
    advice_operators_free(&waits.operators);
    advice_groups_free(&waits.groups);
    return code;
}

const struct analysis rule_result_waits = {
    .name = "result_waits",
    .title = "Waits for Results",
    .help = "Lines that wait for the GPU: .item(), copies to the CPU, masks, synchronization. The saving is that of a "
            "replay in which the line does nothing; the estimate leaves its calls and copies, once in a step, but does "
            "not wait. A wait while the GPU has other work saves nothing and is not listed.",
    .needs = ADVICE_NEEDS,
    ADVICE_FIRST_RULE(
        result_waits,
        .advice = "Wait later or less often: keep results on the GPU, and launch the work of the next step first.",
        .praise = "The GPU does not run dry because of waits for it."),
};
