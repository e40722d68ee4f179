/* The rule unused_gradients: the backward pass computes gradients of parameters that no optimizer updates, because
 * layers are frozen without a word to autograd.
 *
 * The shapes of the optimizer's lists tell how many tensors it updates, and of how many elements. If the backward pass
 * has gradients of just these first, and of others behind them, the others are of layers in front of the trained ones.
 * Estimate: the backward pass ends with the last gradient that is used; of the node before that, which also computes
 * the gradient of its input, half remains. Bound: nothing of that node remains. */
#include <string.h>

#include "analyze/model/flops/op_inputs.h"
#include "analyze/registry.h"
#include "base/human.h"
#include "training.h"

struct tensors {
    size_t count;
    double elements;
};

/* The tensors of an operator's first input. */
static struct tensors tensors_of(const struct operators *operators, const struct operators_event *op)
{
    struct op_inputs inputs;

    op_inputs_read(&inputs,
                   &(struct op_texts){ operators_text(operators, op->shapes), operators_text(operators, op->types),
                                       operators_text(operators, op->strides), operators_text(operators, op->values) });
    return inputs.count ? (struct tensors){ inputs.list[0].tensors, inputs.list[0].elements } : (struct tensors){ 0 };
}

/* The tensors that an optimizer updates: of its operators with the same name, those that have most elements. */
static struct tensors updated_by(const struct training *training, const struct training_span *span)
{
    const struct operators *operators = &training->operators;
    struct tensors most = { 0 };

    for (size_t i = span->op + 1u; i < operators->count && operators->list[i].start_ns < span->end_ns; i++) {
        const struct operators_event *first = &operators->list[i];
        struct tensors sum = { 0 };
        if (first->parent != span->op || first->kind != OPERATOR)
            continue;
        for (size_t k = i; k < operators->count && operators->list[k].start_ns < span->end_ns; k++)
            if (operators->list[k].parent == span->op && operators->list[k].name == first->name) {
                struct tensors own = tensors_of(operators, &operators->list[k]);
                sum.count += own.count;
                sum.elements += own.elements;
            }
        if (sum.elements > most.elements)
            most = sum;
    }
    return most;
}

/* The gradient of an AccumulateGrad: the operator in the engine's has its shape. */
static struct tensors gradient_of(const struct training *training, const struct training_span *span)
{
    const struct operators *operators = &training->operators;

    for (size_t i = span->op; i < operators->count && operators->list[i].start_ns < span->end_ns; i++)
        if ((i == span->op || operators->list[i].parent == span->op) && operators->list[i].kind == OPERATOR) {
            struct tensors own = tensors_of(operators, &operators->list[i]);
            if (own.count)
                return own;
        }
    return (struct tensors){ 0 };
}

/* The last span of the gradients that are used, if those come first; `end` if they do not, or if all are used. */
static size_t last_used(const struct training *training, size_t first, size_t end, size_t *unused)
{
    struct tensors updated = { 0 }, found = { 0 };
    size_t last = end;

    for (size_t i = first; i < end; i++)
        if (training->list[i].part == TRAINING_UPDATE) {
            struct tensors own = updated_by(training, &training->list[i]);
            updated.count += own.count;
            updated.elements += own.elements;
        }
    *unused = 0;
    for (size_t i = first; i < end && updated.count; i++) {
        if (training->list[i].part != TRAINING_ACCUMULATE)
            continue;
        if (training->list[i].round)
            return end;
        if (found.count >= updated.count) {
            ++*unused;
            continue;
        }
        struct tensors own = gradient_of(training, &training->list[i]);
        found.count += own.count;
        found.elements += own.elements;
        last = i;
    }
    return *unused && found.count == updated.count && found.elements == updated.elements ? last : end;
}

/* The last node before this one that computes: it has the gradient of its weights and of its input. */
static const struct training_span *last_node(const struct training *training, size_t first, size_t last)
{
    for (size_t i = last; i-- > first;) {
        const struct training_span *span = &training->list[i];
        if (span->part == TRAINING_NODE &&
            call_works_count(&training->works, span->thread, span->start_ns, span->end_ns))
            return span;
    }
    return NULL;
}

static int remove_step(struct training *training, struct advice_cause *cause, size_t first, size_t last, size_t end)
{
    struct training_span rest = training->list[last];
    const struct training_span *node = last_node(training, first, last);

    rest.start_ns = rest.end_ns;
    for (size_t i = last; i < end; i++)
        if ((training->list[i].part == TRAINING_NODE || training->list[i].part == TRAINING_ACCUMULATE) &&
            training->list[i].thread == rest.thread && training->list[i].end_ns > rest.end_ns)
            rest.end_ns = training->list[i].end_ns;
    training_note(cause, &rest);
    if (training_remove(training, &cause->bound, &rest) != 0 || training_remove(training, &cause->estimate, &rest) != 0)
        return ERR_NO_MEMORY;
    if (!node)
        return 0;
    struct removal removal = { .thread = node->thread, .from_ns = node->start_ns, .to_ns = node->end_ns };
    if (removal_add_works(&training->works, &cause->bound, &removal) != 0)
        return ERR_NO_MEMORY;
    removal.left = 0.5;
    return removal_add_works(&training->works, &cause->estimate, &removal);
}

static int collect(struct adviser *adviser, struct training *training, struct advice_cause *cause)
{
    size_t all = 0, unused;

    for (size_t first = 0, end; first < training->count; first = end) {
        end = training_step_end(training, first);
        size_t last = last_used(training, first, end, &unused);
        if (last == end)
            continue;
        all += unused;
        if (remove_step(training, cause, first, last, end) != 0)
            return ERR_NO_MEMORY;
    }
    if (!cause->count)
        return 0;
    text_add(&cause->what, "gradients of ");
    human_count(&cause->what, all / adviser->step_count ? all / adviser->step_count : 1);
    text_add(&cause->what, " tensors are computed that no optimizer updates");
    cause->advice = "Run frozen layers under torch.no_grad(), or set requires_grad_(False) on their parameters.";
    return 0;
}

static int find_unused_gradients(struct adviser *adviser, struct error *err)
{
    return training_find(adviser, collect, err);
}

ADVICE_RUN(unused_gradients)

const struct analysis rule_unused_gradients = {
    .name = "unused_gradients",
    .title = "Gradients That Nothing Uses",
    .usage = "",
    .help = "Gradients of layers in front of those that the optimizer updates: the backward pass goes through layers "
            "that are frozen. The saving is that of a replay whose backward pass ends with the last gradient in use. "
            "Needs operators of PyTorch with shapes.",
    .needs = ADVICE_NEEDS,
    .advice = "Run frozen layers under torch.no_grad().",
    .praise = "All gradients are of parameters that an optimizer updates, or the shapes of operators are not known.",
    ADVICE_RULE(unused_gradients),
};
