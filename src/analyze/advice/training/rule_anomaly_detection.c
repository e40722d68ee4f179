/* The rule anomaly_detection: autograd looks at every gradient for NaN, and waits for the answer.
 *
 * Estimate: the checks are gone, with their kernels and waits. In the forward pass autograd also keeps a Python
 * stack for each operator: of the time up to an operator's first CUDA call, what is usual remains. Bound: also the rest
 * of the time of operators in the forward pass, and that of nodes, on the CPU. */
#include "analyze/registry.h"
#include "base/human.h"
#include "training.h"

enum { USUAL_NS = 15000 }; /* from the start of an operator to its first CUDA call */

static int add_forward(struct training *training, struct advice_cause *cause, const struct training_span *span)
{
    const struct replay_events *events = &training->works.replay->events;
    struct removal removal = { span->thread, span->start_ns, span->end_ns, 1, 0 };
    uint32_t first, end;

    if (removal_add_time(&training->works, &cause->bound, &removal) != 0)
        return ERR_NO_MEMORY;
    calls_between(events, span->thread, span->start_ns, span->end_ns, &first, &end);
    removal.to_ns = saturating_subtract(first == end ? span->end_ns : events->calls[first].start_ns, USUAL_NS);
    if (removal.to_ns <= removal.from_ns)
        return 0;
    return removal_add_time(&training->works, &cause->estimate, &removal);
}

static int anomaly_mode_add_span(struct training *training, struct advice_cause *cause,
                                 const struct training_span *span)
{
    switch (span->part) {
    case TRAINING_NAN_CHECK:
        training_note(cause, span);
        return training_remove(training, &cause->bound, span) != 0 ||
                       training_remove(training, &cause->estimate, span) != 0
                   ? ERR_NO_MEMORY
                   : 0;
    case TRAINING_NODE:
    case TRAINING_ACCUMULATE:
        return removal_add_time(&training->works, &cause->bound,
                                &(struct removal){ span->thread, span->start_ns, span->end_ns, 1, 0 });
    case TRAINING_FORWARD: return add_forward(training, cause, span);
    default: return 0;
    }
}

static int has_checks(const struct training *training)
{
    for (size_t i = 0; i < training->count; i++)
        if (training->list[i].part == TRAINING_NAN_CHECK)
            return 1;
    return 0;
}

static int anomaly_mode_collect(struct adviser *adviser, struct training *training, struct advice_cause *cause)
{
    if (!has_checks(training))
        return 0;
    for (size_t i = 0; i < training->count; i++)
        if (anomaly_mode_add_span(training, cause, &training->list[i]) != 0)
            return ERR_NO_MEMORY;
    text_add(&cause->what, "anomaly detection is on: ");
    human_count(&cause->what, (uint64_t)cause->count / adviser->step_count);
    text_add(&cause->what, " checks for NaN wait for the GPU");
    cause->advice = "Remove torch.autograd.set_detect_anomaly(True) or detect_anomaly(): it is for debugging.";
    return 0;
}

static int find_anomaly_detection(struct adviser *adviser, struct error *err)
{
    return training_find(adviser, anomaly_mode_collect, err);
}

const struct analysis rule_anomaly_detection = {
    .name = "anomaly_detection",
    .title = "Anomaly Detection of Autograd",
    .help = "Checks of gradients for NaN by torch.autograd.set_detect_anomaly(True). The saving is that of a replay "
            "without the checks, and without the Python stacks that autograd keeps of operators. Needs operators of "
            "PyTorch.",
    .needs = ADVICE_NEEDS,
    ADVICE_RULE(anomaly_detection, .is_of_torch = 1, .advice = "Turn anomaly detection off.",
                .praise = "Anomaly detection is off."),
};
