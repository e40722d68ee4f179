/* The rule unfused_optimizer: gradients or parameters are handled one by one, in many short kernels.
 *
 * Three causes: Optimizer.step() without a fused kernel, clipping tensor by tensor, gradients that are set to 0 instead
 * of dropped, so that the next ones must be added to them. Bound: all of it is gone. Estimate: all that follows the
 * first launch is gone on the CPU. On the GPU a kernel loses what it takes to start one; a fused update also reads and
 * writes each tensor once. */
#include <string.h>

#include "analyze/advice/advice_kernels.h"
#include "analyze/registry.h"
#include "base/human.h"
#include "training.h"

enum { LEAST_KERNELS = 4 }; /* in a step: fewer are fused, or as good as that */
enum { START_NS = 2000 };   /* of a kernel's time: to start it */
#define START_RATE "a kernel takes 2 µs to start"
/* Other packages have optimizers of the same names, without these options. */
#define FUSED(name, since) "Create it as torch.optim." name "(…, fused=True), which PyTorch has since " since "."
#define FOREACH(name) "Create it as torch.optim." name "(…, foreach=True)."

/* PyTorch's optimizers, and the share of the bytes that a fused kernel moves; 0: there is none. SparseAdam and LBFGS
 * have neither a fused kernel nor foreach=True, and LBFGS computes the loss in its step. */
static const struct optimizer {
    const char *name, *rate, *advice;
    double left;
} optimizers[] = {
    { "Adam", "a third of the bytes", FUSED("Adam", "2.0"), 1.0 / 3 }, /* 7 tensors instead of 20 */
    { "AdamW", "a third of the bytes", FUSED("AdamW", "2.0"), 1.0 / 3 },
    { "SGD", "60 % of the bytes", FUSED("SGD", "2.3"), 0.6 },          /* 5 instead of 8 */
    { "Adadelta", START_RATE, FOREACH("Adadelta"), 0 },
    { "Adafactor", START_RATE, FOREACH("Adafactor"), 0 },
    { "Adagrad", START_RATE, FOREACH("Adagrad"), 0 },
    { "Adamax", START_RATE, FOREACH("Adamax"), 0 },
    { "ASGD", START_RATE, FOREACH("ASGD"), 0 },
    { "NAdam", START_RATE, FOREACH("NAdam"), 0 },
    { "RAdam", START_RATE, FOREACH("RAdam"), 0 },
    { "RMSprop", START_RATE, FOREACH("RMSprop"), 0 },
    { "Rprop", START_RATE, FOREACH("Rprop"), 0 },
    { "SparseAdam", NULL, NULL, 0 },
    { "LBFGS", NULL, NULL, 0 },
};

/* One that the program brings itself. */
static const struct optimizer others = {
    "", START_RATE,
    "Let its update use torch._foreach_…() functions, which handle all parameters at once, or compile it "
    "(torch.compile); or take an optimizer that does so.",
    0
};

static const struct optimizer *find_optimizer(const char *name, size_t length)
{
    for (size_t i = 0; i < COUNT_OF(optimizers); i++)
        if (strlen(optimizers[i].name) == length && memcmp(optimizers[i].name, name, length) == 0)
            return &optimizers[i];
    return &others;
}

/* Whether an operator in the span begins like this. */
static int has_operator(const struct training *training, const struct training_span *span, const char *begin)
{
    const struct operators *operators = training->operators;

    for (size_t i = span->op + 1u; i < operators->count && operators->list[i].start_ns < span->end_ns; i++)
        if (operators->list[i].thread == span->thread &&
            text_begins_with(operators_text(operators, operators->list[i].name).bytes, begin))
            return 1;
    return 0;
}

static size_t count_kernels(const struct training *training, const struct training_span *span)
{
    return call_works_count(&training->works, span->thread, span->start_ns, span->end_ns);
}

/* Removes all that follows the first launch of a span. */
static int remove_rest(const struct training *training, struct replay_edits *edits, const struct training_span *span,
                       double left, int64_t short_ns)
{
    const struct replay_events *events = &training->works.replay->events;
    struct removal removal = { span->thread, span->start_ns, span->end_ns, left, short_ns };
    uint32_t first, end;

    calls_between(events, span->thread, span->start_ns, span->end_ns, &first, &end);
    if (first == end)
        return 0;
    if (removal_add_works(&training->works, edits, &removal) != 0)
        return ERR_NO_MEMORY;
    removal.from_ns = events->calls[first].end_ns;
    return removal_add_time(&training->works, edits, &removal);
}

/* Whether a kernel handles a list of tensors, as those of apex and DeepSpeed do. */
static int is_of_many(struct adviser *adviser, const struct advice_kernels *kernels, const struct advice_kernel *kernel)
{
    int64_t name = keys_get(&kernels->names, kernel->name)[1]; /* below 0: it has none */

    return name >= 0 && strstr(report_string(adviser->report, name, NULL), "multi_tensor_apply") != NULL;
}

/* Whether the span has such a kernel. */
static int has_kernel_of_many(struct adviser *adviser, const struct training_span *span, int *out)
{
    struct advice_kernels *kernels;
    struct error err;
    uint32_t first, end;

    *out = 0;
    if (adviser_kernels(adviser, &kernels, &err) != 0)
        return ERR_NO_MEMORY;
    calls_between(&adviser->replay.events, span->thread, span->start_ns, span->end_ns, &first, &end);
    for (size_t i = 0; i < kernels->count && !*out; i++) {
        uint32_t call = adviser->replay.events.works[kernels->list[i].work].call;
        *out = call >= first && call < end && is_of_many(adviser, kernels, &kernels->list[i]);
    }
    return 0;
}

/* "AdamW is not fused: 1,152 kernels" */
static void optimizer_describe(struct adviser *adviser, struct advice_cause *cause, const char *what, size_t kernels)
{
    text_add(&cause->what, what);
    human_count(&cause->what, kernels / adviser->step_count);
    text_add(&cause->what, " kernels");
}

/* ---- Optimizer.step() ------------------------------------------------------------------------------------------ */

static int add_update(struct adviser *adviser, struct training *training, struct advice_cause *cause,
                      const struct training_span *span, size_t *kernels)
{
    const char *name = strchr(training_name(training, span), '#') + 1;
    size_t length = strcspn(name, "."), own = count_kernels(training, span);
    const struct optimizer *row = find_optimizer(name, length);
    int is_foreach = has_operator(training, span, "aten::_foreach_");

    if (own < LEAST_KERNELS || !row->advice || has_operator(training, span, "aten::_fused_") ||
        (is_foreach && row->left <= 0))
        return 0;
    int has_many = 0;
    if (row == &others && has_kernel_of_many(adviser, span, &has_many) != 0)
        return ERR_NO_MEMORY;
    if (has_many)
        return 0;
    if (!cause->count) {
        text_addf(&cause->what, "%.*s is not fused: ", (int)length, name);
        text_add(&cause->rate, row->rate);
        cause->confidence = ADVICE_MODELLED;
        cause->advice = row->advice;
    }
    training_note(cause, span);
    *kernels += own;
    if (training_remove(training, &cause->bound, span) != 0)
        return ERR_NO_MEMORY;
    return remove_rest(training, &cause->estimate, span, row->left > 0 ? row->left : 1, is_foreach ? 0 : START_NS);
}

static int collect_updates(struct adviser *adviser, struct training *training, struct advice_cause *cause)
{
    size_t kernels = 0;

    for (size_t i = 0; i < training->count; i++)
        if (training->list[i].part == TRAINING_UPDATE &&
            add_update(adviser, training, cause, &training->list[i], &kernels) != 0)
            return ERR_NO_MEMORY;
    if (cause->count)
        optimizer_describe(adviser, cause, "", kernels);
    return 0;
}

/* ---- clipping -------------------------------------------------------------------------------------------------- */

static int collect_clips(struct adviser *adviser, struct training *training, struct advice_cause *cause)
{
    size_t kernels = 0;

    for (size_t i = 0; i < training->count; i++) {
        const struct training_span *span = &training->list[i];
        if (span->part != TRAINING_CLIP)
            continue;
        training_note(cause, span);
        kernels += count_kernels(training, span);
        if (training_remove(training, &cause->bound, span) != 0 ||
            remove_rest(training, &cause->estimate, span, 1, START_NS) != 0)
            return ERR_NO_MEMORY;
    }
    if (!cause->count)
        return 0;
    optimizer_describe(adviser, cause, "gradients are clipped one by one: ", kernels);
    text_add(&cause->rate, "a kernel takes 2 µs to start");
    cause->confidence = ADVICE_MODELLED;
    cause
        ->advice = "clip_grad_norm_(…, foreach=True) clips all gradients with a few kernels; torch._foreach_norm() and "
                   "torch._foreach_mul_() do so in code of your own.";
    return 0;
}

/* ---- zero_grad() ----------------------------------------------------------------------------------------------- */

/* Gradients are set to 0 by zero_grad(), or by operators of the program itself. */
static int sets_to_zero(const struct training *training, const struct training_span *span)
{
    if (span->part == TRAINING_ZERO)
        return 1;
    return span->part == TRAINING_FORWARD && (strcmp(training_name(training, span), "aten::zero_") == 0 ||
                                              strcmp(training_name(training, span), "aten::_foreach_zero_") == 0);
}

static int add_zero(struct training *training, struct advice_cause *cause, const struct training_span *span,
                    size_t *kernels)
{
    *kernels += count_kernels(training, span);
    training_note(cause, span);
    if (training_remove(training, &cause->bound, span) != 0)
        return ERR_NO_MEMORY;
    return training_remove(training, &cause->estimate, span);
}

/* Whether the spans set gradients to 0 to which `added` kernels then add. zero_grad(), and an operator on a list, may
 * have one kernel for all. Where gradients are accumulated over several steps, a zero_() of a buffer or two says
 * nothing. */
static int are_zeroed(const struct training *training, size_t first, size_t end, size_t added)
{
    size_t one_by_one = 0;

    for (size_t i = first; i < end; i++) {
        const struct training_span *span = &training->list[i];
        size_t own = sets_to_zero(training, span) ? count_kernels(training, span) : 0;
        if (own && (span->part == TRAINING_ZERO || strcmp(training_name(training, span), "aten::zero_") != 0))
            return 1;
        one_by_one += own;
    }
    return 2 * one_by_one >= added;
}

/* Gradients of the first round that are added to others show that these were not dropped. */
static int add_zeroing_step(struct training *training, struct advice_cause *cause, size_t first, size_t end,
                            size_t *kernels)
{
    size_t added = 0;

    for (size_t i = first; i < end; i++)
        if (training->list[i].part == TRAINING_ACCUMULATE && !training->list[i].round)
            added += count_kernels(training, &training->list[i]);
    if (added < LEAST_KERNELS || !are_zeroed(training, first, end, added))
        return 0;
    for (size_t i = first; i < end; i++) {
        const struct training_span *span = &training->list[i];
        if ((sets_to_zero(training, span) || (span->part == TRAINING_ACCUMULATE && !span->round)) &&
            count_kernels(training, span) && add_zero(training, cause, span, kernels) != 0)
            return ERR_NO_MEMORY;
    }
    return 0;
}

static int collect_zeros(struct adviser *adviser, struct training *training, struct advice_cause *cause)
{
    size_t kernels = 0;

    for (size_t first = 0, end; first < training->count; first = end) {
        end = training_update_end(training, first);
        if (add_zeroing_step(training, cause, first, end, &kernels) != 0)
            return ERR_NO_MEMORY;
    }
    if (!cause->count)
        return 0;
    optimizer_describe(adviser, cause, "gradients are set to 0 and added to: ", kernels);
    cause->advice = "zero_grad(set_to_none=True), the default, drops the gradients; nothing is then added to the new "
                    "ones.";
    return 0;
}

static int find_unfused_optimizer(struct adviser *adviser, struct error *err)
{
    static training_collect *const causes[] = { collect_updates, collect_clips, collect_zeros };
    int code = 0;

    for (size_t i = 0; i < COUNT_OF(causes) && code == 0; i++)
        code = training_find(adviser, causes[i], err);
    return code;
}

const struct analysis rule_unfused_optimizer = {
    .name = "unfused_optimizer",
    .title = "Unfused Optimizer",
    .help = "Optimizer.step() without a fused kernel, clipping of gradients tensor by tensor, and gradients that are "
            "set to 0 instead of dropped. The bound is a replay without all of that; the estimate leaves the first "
            "launch, and on the GPU the bytes that a fused kernel moves. Needs operators of PyTorch.",
    .needs = ADVICE_NEEDS,
    ADVICE_RULE(
        unfused_optimizer, .is_of_torch = 1,
        .advice = "Use fused=True or foreach=True, clip_grad_norm_(foreach=True) and zero_grad(set_to_none=True).",
        .praise = "Optimizers, clipping and zero_grad() use few kernels."),
};
