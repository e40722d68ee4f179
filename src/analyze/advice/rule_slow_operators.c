/* The rule slow_operators: an operator of PyTorch takes long on the CPU, and the GPU waits for it.
 *
 * Launching a kernel takes some µs. An operator that takes much longer between two CUDA calls prepares its kernels, as
 * cuDNN and Triton do for each new shape, or computes on the CPU. The times between the calls in an operator belong to
 * the outermost operator, and are a cause for each line that calls it. Waits for the GIL in them are left to the rule
 * python_between. Bound and estimate: these times are gone. If the line of an operator that computes on the CPU also
 * waits for copies from the GPU, these are its tensors: on the GPU nothing of that would be copied. */
#include <string.h>

#include "advice_gil.h"
#include "advice_groups.h"
#include "advice_operators.h"
#include "analyze/model/names/operator_text.h"
#include "analyze/registry.h"
#include "base/intern.h"

struct slow {
    struct advice_groups groups;       /* by name and line; the first member: slow_operators_describe() gets it */
    struct adviser *adviser;
    struct intern names;               /* of operators; emit_nvtx names each call of one differently */
    struct advice_operators operators; /* the outermost ones alone */
    struct gil_waits gil_waits;
};

/* The advice, by a part of the operator's name; the first row that matches. */
static const struct {
    const char *part, *advice;
} slow_operators_kinds[] = {
    { "attention", "cuDNN prepares attention for each new shape. Keep shapes the same: pad to a few lengths, or "
                   "allocate the KV cache once. Or torch.backends.cuda.enable_cudnn_sdp(False)." },
    { "conv", "cuDNN prepares convolutions for each new shape. Keep shapes the same, or set "
              "torch.backends.cudnn.benchmark = False (the default) if they must change." },
    { "", "It prepares its kernels, or computes on the CPU. Keep shapes the same, and call it once before the loop." },
};
static const char on_cpu[] = "Its tensors are on the CPU. Move them to the GPU before, compute this in a DataLoader's "
                             "worker, or keep the result if it is always the same.",
                  waits_or_computes[] = "It makes no CUDA call: it computes or waits on the CPU. Launch the GPU's work "
                                        "first, or move it out of the loop.";

static void keep_outermost_operators(struct advice_operators *operators)
{
    size_t kept = 0;

    for (size_t i = 0; i < operators->spans.count; i++) {
        size_t length;
        const char *name = report_string(operators->report, operators->spans.list[i].name, &length);
        if (memmem(name, length, "::", 2))
            operators->spans.list[kept++] = operators->spans.list[i];
    }
    operators->spans.count = kept;
    thread_spans_keep_outermost(&operators->spans);
}

/* Whether the thread waited for the GIL in most of this time. */
static int is_gil_wait(const struct gil_waits *waits, int64_t thread, int64_t from_ns, int64_t to_ns)
{
    int64_t waited_ns = 0;

    for (size_t i = gil_waits_from(waits, thread, from_ns); i < waits->count; i++) {
        const struct gil_wait *wait = &waits->list[i];
        if (wait->thread != thread || wait->start_ns >= to_ns)
            break;
        waited_ns = saturating_add(waited_ns, saturating_duration(wait->start_ns > from_ns ? wait->start_ns : from_ns,
                                                                  wait->end_ns < to_ns ? wait->end_ns : to_ns));
    }
    return waited_ns > saturating_duration(from_ns, to_ns) / 2;
}

static uint32_t slow_operators_group_of(struct slow *slow, const struct thread_span *span, uint32_t place)
{
    size_t length;
    const char *name = report_string(slow->adviser->report, span->name, &length);
    int64_t number = intern_add(&slow->names, name, operator_name_length(name, length));

    return number < 0 ? NO_KEY : advice_group(&slow->groups, number, place);
}

/* Adds a time between two calls in an operator. kind: whether the operator calls CUDA. */
static int slow_operators_add_piece(struct slow *slow, const struct thread_span *span, int64_t from_ns, int64_t to_ns,
                                    int has_calls)
{
    struct advice_event event = { .kind = has_calls, .thread = span->thread, .start_ns = from_ns, .end_ns = to_ns };
    struct places *places = slow->groups.places;

    if (from_ns >= to_ns || saturating_duration(from_ns, to_ns) < slow->adviser->thresholds[THRESHOLD_OPERATOR] ||
        is_gil_wait(&slow->gil_waits, span->thread, from_ns, to_ns))
        return 0;
    event.place = places_line(places, places_at(places, span->thread, span->start_ns, span->end_ns));
    uint32_t group = slow_operators_group_of(slow, span, event.place);
    if (group == NO_KEY || advice_group_note(&slow->groups, group, &event) != 0)
        return ERR_NO_MEMORY;
    struct advice_cause *cause = &slow->groups.list[group].cause;
    const struct replay *replay = &slow->adviser->replay;
    const struct replay_thread *thread = replay_thread_of(&replay->events, span->thread);
    if (advice_cut_time(replay, &cause->bound, thread, from_ns, to_ns, 0) != 0)
        return ERR_NO_MEMORY;
    return advice_cut_time(replay, &cause->estimate, thread, from_ns, to_ns, 0);
}

static int slow_operators_add_operator(struct slow *slow, const struct thread_span *span,
                                       const struct replay_thread *thread)
{
    const struct replay_events *events = &slow->adviser->replay.events;
    uint32_t call = replay_call_from(events, thread, span->start_ns);
    int has_calls = call < thread->end && events->calls[call].start_ns < span->end_ns;
    int64_t from_ns = span->start_ns;

    for (; call < thread->end && events->calls[call].start_ns < span->end_ns; call++) {
        if (slow_operators_add_piece(slow, span, from_ns, events->calls[call].start_ns, has_calls) != 0)
            return ERR_NO_MEMORY;
        from_ns = events->calls[call].end_ns;
    }
    return slow_operators_add_piece(slow, span, from_ns, span->end_ns, has_calls);
}

static int slow_operators_add_operators(struct slow *slow)
{
    const struct thread_spans *spans = &slow->operators.spans;
    int64_t least_ns = slow->adviser->thresholds[THRESHOLD_OPERATOR];

    for (size_t i = 0; i < spans->count; i++) {
        const struct thread_span *span = &spans->list[i];
        const struct replay_thread *thread = saturating_duration(span->start_ns, span->end_ns) < least_ns
                                                 ? NULL
                                                 : advice_thread(slow->adviser, span->thread, span->start_ns);
        if (thread && slow_operators_add_operator(slow, span, thread) != 0)
            return ERR_NO_MEMORY;
    }
    return 0;
}

/* "scaled_dot_product_attention: 36.1 ms on the CPU", "topk computes on the CPU: 5.00 ms" */
static int slow_operators_describe(struct advice_groups *groups, uint32_t group)
{
    static const char own[] = "aten::";
    struct advice_cause *cause = &groups->list[group].cause;
    const char *name = ((const struct slow *)groups)->names.strings[keys_get(&groups->keys, group)[0]].bytes;
    int64_t has_calls;
    uint32_t place;
    size_t kind = 0;

    int is_own = text_begins_with(name, own);
    advice_group_most(groups, group, &place, &has_calls);
    while (!strstr(name, slow_operators_kinds[kind].part) || (*slow_operators_kinds[kind].part && !is_own))
        kind++; /* the last one is any; other packages have attention without cuDNN */
    text_add(&cause->what, is_own ? name + sizeof own - 1 : name);
    text_add(&cause->what, has_calls || !is_own ? ": " : " computes on the CPU: ");
    advice_cause_figure(cause, FIGURE_TIME);
    text_add(&cause->what, has_calls || !is_own ? " on the CPU" : "");
    place_text(&cause->where, groups->places, place);
    cause->advice = has_calls ? slow_operators_kinds[kind].advice : is_own ? on_cpu : waits_or_computes;
    cause->takes = has_calls ? NULL : &rule_result_waits;
    return 1;
}

static int find_slow_operators(struct adviser *adviser, struct error *err)
{
    struct slow slow = { .adviser = adviser };
    int code;

    if ((code = advice_groups_open(&slow.groups, adviser, err)) != 0 ||
        (code = advice_operators_open(&slow.operators, adviser->report, err)) != 0 ||
        (code = gil_waits_read(&slow.gil_waits, adviser->report, err)) != 0)
        goto done;
    keep_outermost_operators(&slow.operators);
    if (slow_operators_add_operators(&slow) != 0 && (code = error_short_memory(err, "for the operators")) != 0)
        goto done;
    code = advice_groups_add(&slow.groups, advice_least(adviser), slow_operators_describe, err);
done:
    gil_waits_free(&slow.gil_waits);
    advice_operators_free(&slow.operators);
    advice_groups_free(&slow.groups);
    intern_free(&slow.names);
    return code;
}

const struct analysis rule_slow_operators = {
    .name = "slow_operators",
    .title = "Operators That Take Long on the CPU",
    .help = "Operators of PyTorch that take at least 200 µs between two CUDA calls while the GPU waits: they prepare "
            "kernels for a new shape, or compute on the CPU. The saving is that of a replay without these times. Waits "
            "for Python's GIL are left out.",
    .needs = ADVICE_NEEDS,
    ADVICE_GENERAL_RULE(slow_operators, .is_of_torch = 1,
                        .advice = "Keep shapes the same from step to step, and tensors on the GPU.",
                        .praise = "The GPU does not wait for operators that take long on the CPU."),
};
