/* The rule unused_autograd: autograd records a forward pass that no backward pass follows.
 *
 * Sequence numbers of operators grow with each node that autograd records. Estimate: recording a node takes 2 µs.
 * Bound: half of the time of the operator. */
#include "analyze/registry.h"
#include "base/human.h"
#include "training.h"

enum { NODE_NS = 2000 };

/* The nodes that autograd recorded from this operator to the next one of the same thread and step. */
static int64_t nodes_of(const struct training *training, size_t at)
{
    const struct training_span *own = &training->list[at];

    for (size_t i = at + 1; i < training->count && training->list[i].step == own->step; i++)
        if (training->list[i].part == TRAINING_FORWARD && training->list[i].thread == own->thread) {
            int64_t more = saturating_subtract(training->operators->list[training->list[i].op].sequence,
                                               training->operators->list[own->op].sequence);
            return more > 0 ? more : 0;
        }
    return 0;
}

static int autograd_add_operator(struct training *training, struct advice_cause *cause,
                                 const struct training_span *span, int64_t nodes)
{
    int64_t half_ns = saturating_duration(span->start_ns, span->end_ns) / 2,
            less_ns = saturating_multiply(nodes, NODE_NS);
    struct removal removal = { span->thread, span->start_ns, saturating_add(span->start_ns, half_ns), 1, 0 };

    training_note(cause, span);
    if (removal_add_time(&training->works, &cause->bound, &removal) != 0)
        return ERR_NO_MEMORY;
    removal.to_ns = saturating_add(span->start_ns, less_ns < half_ns ? less_ns : half_ns);
    return removal_add_time(&training->works, &cause->estimate, &removal);
}

/* Whether any operator is of a backward pass: the part of the report that was asked for may not have it. */
static int has_backward(const struct operators *operators)
{
    for (size_t i = 0; i < operators->count; i++)
        if (text_begins_with(operators_text(operators, operators->list[i].name).bytes, "autograd::engine::"))
            return 1;
    return 0;
}

static int autograd_collect(struct adviser *adviser, struct training *training, struct advice_cause *cause)
{
    for (size_t i = 0; i < training->count; i++)
        if (training->list[i].part != TRAINING_FORWARD && training->list[i].part != TRAINING_CLIP)
            return 0;
    if (has_backward(training->operators))
        return 0;
    for (size_t i = 0; i < training->count; i++) {
        int64_t nodes = nodes_of(training, i);
        if (nodes && autograd_add_operator(training, cause, &training->list[i], nodes) != 0)
            return ERR_NO_MEMORY;
    }
    if (!cause->count)
        return 0;
    text_add(&cause->what, "autograd records ");
    human_count(&cause->what, (uint64_t)cause->count / adviser->step_count);
    text_add(&cause->what, " operators, and there is no backward pass");
    text_add(&cause->rate, "2 µs for each operator");
    cause->confidence = ADVICE_MODELLED;
    cause->advice = "Run inference under torch.inference_mode() or torch.no_grad(). It needs less memory, too.";
    return 0;
}

static int find_unused_autograd(struct adviser *adviser, struct error *err)
{
    return training_find(adviser, autograd_collect, err);
}

const struct analysis rule_unused_autograd = {
    .name = "unused_autograd",
    .title = "Autograd in Inference",
    .help = "Operators that autograd records in a program without a backward pass. The saving is that of a replay in "
            "which each takes 2 µs less; in the bound, half of its time. Needs operators of PyTorch.",
    .needs = ADVICE_NEEDS,
    ADVICE_RULE(unused_autograd, .is_of_torch = 1, .advice = "Run inference under torch.inference_mode().",
                .praise = "Autograd records no operators, or a backward pass follows."),
};
