/* The rule autotuning: an operator times several kernels in the loop to find the fastest, as cuDNN does for each new
 * shape with torch.backends.cudnn.benchmark, and PyTorch's TunableOp for products.
 *
 * It shows as an operator that launches kernels of different names and asks for the time between two events at least
 * four times. Bound and estimate: its calls, their waits and the time between them are gone, and of its kernels only
 * the last remains. Tuning in one step only is no habit of the loop, but tuning as it should be. */
#include <stdlib.h>
#include <string.h>

#include "advice_kernels.h"
#include "analyze/registry.h"

enum { LEAST_TIMED = 4 };
static const char *const timing_calls[] = { "cudaEventElapsedTime", "cuEventElapsedTime", NULL };

/* The kernels that an operator launched. */
struct autotuning_launches {
    uint32_t name, last; /* of the first; the kernel that was launched last */
    unsigned char is_any, is_mixed;
};

static void autotuning_add_launch(struct autotuning_launches *launches, const struct advice_kernels *kernels,
                                  uint32_t number)
{
    const struct replay_work *works = kernels->adviser->replay.events.works;
    const struct advice_kernel *kernel = &kernels->list[number];

    if (!launches->is_any)
        *launches = (struct autotuning_launches){ .name = kernel->name, .last = number, .is_any = 1 };
    launches->is_mixed |= launches->name != kernel->name;
    if (works[kernel->work].start_ns > works[kernels->list[launches->last].work].start_ns)
        launches->last = number;
}

/* How often an operator asks for the time between two events. */
static size_t count_timed(const struct advice_kernels *kernels, const struct operators_event *op)
{
    const struct adviser *adviser = kernels->adviser;
    const struct replay_events *events = &adviser->replay.events;
    const struct replay_thread *thread = replay_thread_of(events, op->thread);
    size_t count = 0;

    for (uint32_t at = thread ? replay_call_from(events, thread, op->start_ns) : 0;
         thread && at < thread->end && events->calls[at].start_ns < op->end_ns; at++)
        count += text_begins_with_one(report_string(adviser->report, *keys_get(&events->names, events->calls[at].name),
                                                    NULL),
                                      timing_calls);
    return count;
}

/* Takes an operator out of the host's time. */
static int cut_operator(const struct adviser *adviser, struct replay_edits *edits, const struct operators_event *op)
{
    const struct replay *replay = &adviser->replay;
    const struct replay_thread *thread = replay_thread_of(&replay->events, op->thread);

    for (uint32_t at = replay_call_from(&replay->events, thread, op->start_ns);
         at < thread->end && replay->events.calls[at].start_ns < op->end_ns; at++)
        if (advice_call_vanish(replay, edits, at) != 0)
            return ERR_NO_MEMORY;
    return advice_cut_time(replay, edits, thread, op->start_ns, op->end_ns, 0);
}

static int autotuning_add_operator(struct advice_groups *groups, const struct advice_kernels *kernels, uint32_t number)
{
    const struct operators_event *op = &kernels->operators->list[number];
    struct places *places = groups->places;
    struct advice_event event = { .thread = op->thread, .start_ns = op->start_ns, .end_ns = op->end_ns };
    uint32_t group = advice_group(groups, op->name, 0), source = kernels->sources[number];
    const struct operators_event *called = source == NO_OPERATOR ? op : &kernels->operators->list[source];

    event.place = places_line(places, places_at(places, called->thread, called->start_ns, called->end_ns));
    if (group == NO_KEY || advice_group_note(groups, group, &event) != 0)
        return ERR_NO_MEMORY;
    struct advice_cause *cause = &groups->list[group].cause;
    if (cut_operator(groups->adviser, &cause->bound, op) != 0)
        return ERR_NO_MEMORY;
    return cut_operator(groups->adviser, &cause->estimate, op);
}

/* Adds the operators that tune, and forgets the launches of all others. */
static int autotuning_add_operators(struct advice_groups *groups, const struct advice_kernels *kernels,
                                    struct autotuning_launches *launches)
{
    for (uint32_t op = 0; op < kernels->operators->count; op++) {
        launches[op].is_mixed = launches[op].is_mixed &&
                                count_timed(kernels, &kernels->operators->list[op]) >= LEAST_TIMED;
        if (launches[op].is_mixed && autotuning_add_operator(groups, kernels, op) != 0)
            return ERR_NO_MEMORY;
    }
    return 0;
}

static int drop_kernels(struct advice_groups *groups, const struct advice_kernels *kernels,
                        const struct autotuning_launches *launches)
{
    for (uint32_t i = 0; i < kernels->count; i++) {
        const struct advice_kernel *kernel = &kernels->list[i];
        if (kernel->op == NO_OPERATOR || !launches[kernel->op].is_mixed || launches[kernel->op].last == i)
            continue;
        uint32_t group = advice_group(groups, kernels->operators->list[kernel->op].name, 0);
        if (group == NO_KEY || advice_kernel_take(&groups->list[group].cause.bound, kernel, 0) != 0 ||
            advice_kernel_take(&groups->list[group].cause.estimate, kernel, 0) != 0)
            return ERR_NO_MEMORY;
    }
    return 0;
}

static int add_tuning(struct advice_groups *groups, struct advice_kernels *kernels)
{
    struct autotuning_launches *launches = calloc(kernels->operators->count + 1, sizeof *launches);
    int code = launches ? 0 : ERR_NO_MEMORY;

    for (uint32_t i = 0; launches && i < kernels->count; i++)
        if (kernels->list[i].op != NO_OPERATOR)
            autotuning_add_launch(&launches[kernels->list[i].op], kernels, i);
    if (code == 0 && (code = autotuning_add_operators(groups, kernels, launches)) == 0)
        code = drop_kernels(groups, kernels, launches);
    free(launches);
    return code;
}

/* "aten::cudnn_convolution times kernels to choose one: 4.21 ms in each step (3 in each step)" */
static int autotuning_describe(struct advice_groups *groups, uint32_t group)
{
    struct advice_cause *cause = &groups->list[group].cause;
    const struct advice_kernels *kernels = groups->adviser->kernels;
    uint32_t place;
    int64_t kind;

    advice_group_most(groups, group, &place, &kind);
    text_addf(&cause->what, "%s times kernels to choose one: ",
              operators_text(kernels->operators, (uint32_t)keys_get(&groups->keys, group)[0]).bytes);
    advice_cause_figure(cause, FIGURE_TIME);
    text_add(&cause->what, " in each step");
    advice_cause_figure(cause, FIGURE_TIMES);
    place_text(&cause->where, groups->places, place);
    cause->advice =
        "Keep the shapes the same (pad, or sort samples into a few sizes) and run each once before the loop; "
        "or torch.backends.cudnn.benchmark = False for convolutions whose shapes change.";
    return 1;
}

/* Without steps the start of the program counts, in which tuning is as it should be. */
static int find_autotuning(struct adviser *adviser, struct error *err)
{
    if (!adviser->steps->count)
        return 0;
    return advice_kernels_find(adviser, &(struct advice_kernel_rule){ add_tuning, autotuning_describe }, err);
}

const struct analysis rule_autotuning = {
    .name = "autotuning",
    .title = "Autotuning in the Loop",
    .help = "Operators that time several kernels in steps to choose the fastest: cuDNN with "
            "torch.backends.cudnn.benchmark for each new shape, PyTorch's TunableOp. The saving is that of a replay in "
            "which they only run the last of these kernels. Needs steps and operators.",
    .needs = ADVICE_NEEDS,
    ADVICE_RULE(autotuning, .is_of_torch = 1,
                .advice = "Keep shapes the same and tune before the loop, or turn tuning off.",
                .praise = "No operator times kernels in the steps to choose one."),
};
