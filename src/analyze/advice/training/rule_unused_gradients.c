/* The rule unused_gradients: the backward pass computes gradients of parameters that no optimizer updates, because
 * layers are frozen without a word to autograd.
 *
 * The shapes of the optimizer's lists say how many tensors it updates, and of how many elements. If the backward pass
 * has gradients of just these first, and of others after them, the others are of layers in front of the trained ones.
 * Estimate: the backward pass ends with the last gradient that is used; of the node before that, which also computes
 * the gradient of its input, half remains. Bound: nothing of that node remains. */
#include <stdlib.h>

#include "analyze/model/flops/op_inputs.h"
#include "analyze/registry.h"
#include "base/array.h"
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

static void add_tensors(struct tensors *to, struct tensors more)
{
    to->count += more.count;
    to->elements += more.elements;
}

/* Adds the tensors that an optimizer updates: those of its operators of one name, the name with most elements. */
static int add_updated(const struct training *training, const struct training_span *span, struct tensors *to)
{
    const struct operators *operators = training->operators;
    struct keys names = { .width = 1 };
    struct tensors *by_name = NULL, most = { 0 };
    size_t room = 0;
    int code = ERR_NO_MEMORY;

    for (size_t i = span->op + 1u; i < operators->count && operators->list[i].start_ns < span->end_ns; i++) {
        const struct operators_event *op = &operators->list[i];
        if (op->parent != span->op || op->kind != OPERATOR)
            continue;
        uint32_t name = keys_add(&names, &(int64_t){ op->name });
        if (name == NO_KEY || array_reserve_zeroed(&by_name, &room, name + 1u, sizeof *by_name) != 0)
            goto free_names;
        add_tensors(&by_name[name], tensors_of(operators, op));
    }
    for (size_t i = 0; i < names.count; i++)
        most = by_name[i].elements > most.elements ? by_name[i] : most;
    add_tensors(to, most);
    code = 0;
free_names:
    keys_free(&names);
    free(by_name);
    return code;
}

/* The gradient that an AccumulateGrad adds. The operator of the span, or one directly in it, has its shape. */
static struct tensors gradient_of(const struct training *training, const struct training_span *span)
{
    const struct operators *operators = training->operators;

    for (size_t i = span->op; i < operators->count && operators->list[i].start_ns < span->end_ns; i++)
        if ((i == span->op || operators->list[i].parent == span->op) && operators->list[i].kind == OPERATOR) {
            struct tensors own = tensors_of(operators, &operators->list[i]);
            if (own.count)
                return own;
        }
    return (struct tensors){ 0 };
}

/* Sets out to the last span of the gradients that are used, if those come first; to `end` if they do not, or if all
 * are used. */
static int find_last_used(const struct training *training, size_t first, size_t end, size_t *out, size_t *unused)
{
    struct tensors updated = { 0 }, found = { 0 };
    size_t last = *out = end;

    *unused = 0;
    for (size_t i = first; i < end; i++)
        if (training->list[i].part == TRAINING_UPDATE && add_updated(training, &training->list[i], &updated) != 0)
            return ERR_NO_MEMORY;
    for (size_t i = first; i < end && updated.count; i++) {
        if (training->list[i].part != TRAINING_ACCUMULATE)
            continue;
        if (training->list[i].round)
            return 0;
        if (found.count >= updated.count) {
            ++*unused;
            continue;
        }
        add_tensors(&found, gradient_of(training, &training->list[i]));
        last = i;
    }
    if (*unused && found.count == updated.count && found.elements == updated.elements)
        *out = last;
    return 0;
}

/* Whether all updates are of the same tensors. Where several optimizers take turns, as in a GAN, what one of them
 * leaves aside may be another one's. */
static int is_one_update(const struct training *training, int *out)
{
    struct tensors before = { 0 };

    *out = 1;
    for (size_t first = 0, end; first < training->count; first = end) {
        struct tensors own = { 0 };
        end = training_update_end(training, first);
        for (size_t i = first; i < end; i++)
            if (training->list[i].part == TRAINING_UPDATE && add_updated(training, &training->list[i], &own) != 0)
                return ERR_NO_MEMORY;
        if (own.count && before.count && (own.count != before.count || own.elements != before.elements))
            *out = 0;
        before = own.count ? own : before;
    }
    return 0;
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

static int gradients_collect(struct adviser *adviser, struct training *training, struct advice_cause *cause)
{
    size_t all = 0, last, unused;
    int is_one;

    if (is_one_update(training, &is_one) != 0)
        return ERR_NO_MEMORY;
    if (!is_one)
        return 0;
    for (size_t first = 0, end; first < training->count; first = end) {
        end = training_update_end(training, first);
        if (find_last_used(training, first, end, &last, &unused) != 0)
            return ERR_NO_MEMORY;
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
    return training_find(adviser, gradients_collect, err);
}

const struct analysis rule_unused_gradients = {
    .name = "unused_gradients",
    .title = "Gradients That Nothing Uses",
    .help = "Gradients of layers in front of those that the optimizer updates: the backward pass goes through layers "
            "that are frozen. The saving is that of a replay whose backward pass ends with the last gradient in use. "
            "Needs operators of PyTorch with shapes.",
    .needs = ADVICE_NEEDS,
    ADVICE_RULE(
        unused_gradients, .is_of_torch = 1, .advice = "Run frozen layers under torch.no_grad().",
        .praise =
            "All gradients are of parameters that an optimizer updates, or the shapes of operators are not known."),
};
