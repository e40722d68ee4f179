/* The rule recomputation: activation checkpointing runs operators of the forward pass again, although the GPU may have
 * room for their results.
 *
 * Operators in a node of the backward pass that autograd records are those of the forward pass, in the same order; if
 * they are not, the program computes gradients of gradients. Bound and estimate: they are gone, with their kernels and
 * what checkpoint() does around them in both passes. */
#include <string.h>

#include "analyze/registry.h"
#include "base/human.h"
#include "training.h"

enum { NO_NAME = -1 };

/* Names of operators that follow each other in the forward pass. */
static int note_forward(struct keys *pairs, const struct training *training)
{
    int64_t last = NO_NAME;

    for (size_t i = 0; i < training->count; i++) {
        if (training->list[i].part != TRAINING_FORWARD)
            continue;
        int64_t name = training->operators->list[training->list[i].op].name;
        if (keys_add(pairs, (int64_t[]){ last, name }) == NO_KEY ||
            keys_add(pairs, (int64_t[]){ NO_NAME, name }) == NO_KEY)
            return ERR_NO_MEMORY;
        last = name;
    }
    return 0;
}

/* The end of the recomputed operators that begin here and lie in one node. */
static size_t group_end(const struct training *training, size_t first)
{
    size_t end = first + 1;

    while (end < training->count && training->list[end].part == TRAINING_RECOMPUTED &&
           training->list[end].thread == training->list[first].thread &&
           training->list[end].step == training->list[first].step)
        end++;
    return end;
}

static int is_like_forward(const struct keys *pairs, const struct training *training, size_t first, size_t end)
{
    size_t alike = 0;
    int64_t last = NO_NAME;

    for (size_t i = first; i < end; i++) {
        int64_t name = training->operators->list[training->list[i].op].name;
        alike += keys_find(pairs, (int64_t[]){ last, name }) != NO_KEY;
        last = name;
    }
    return 10 * alike >= 9 * (end - first);
}

/* The node around the operators; NULL: it began in another step. */
static const struct training_span *node_around(const struct training *training, size_t first)
{
    const struct training_span *own = &training->list[first];

    for (const struct training_span *span = own; span-- > training->list && span->step == own->step;)
        if (span->part == TRAINING_NODE && span->thread == own->thread)
            return span->end_ns >= own->end_ns ? span : NULL;
    return NULL;
}

/* Removes a group and the checkpoint's own work around it: from the start of the node to the first call after the
 * group, which is the node's own. */
static int remove_group(struct training *training, struct advice_cause *cause, size_t first, size_t end)
{
    const struct replay_events *events = &training->works.replay->events;
    struct training_span whole = training->list[first];
    const struct training_span *node = node_around(training, first);
    uint32_t call, calls_end;

    whole.end_ns = training->list[end - 1].end_ns;
    if (node) {
        calls_between(events, node->thread, whole.end_ns, node->end_ns, &call, &calls_end);
        whole.start_ns = node->start_ns;
        whole.end_ns = call < calls_end ? events->calls[call].start_ns : whole.end_ns;
    }
    training_note(cause, &whole);
    cause->count += (int64_t)(end - first) - 1;
    if (training_remove(training, &cause->bound, &whole) != 0)
        return ERR_NO_MEMORY;
    return training_remove(training, &cause->estimate, &whole);
}

/* A checkpoint keeps its inputs, and the state of random numbers, in the forward pass: from the operator before
 * checkpoint()'s own to that one's end. */
static int remove_preparations(struct training *training, struct advice_cause *cause)
{
    const struct training_span *last = NULL;

    for (size_t i = 0; i < training->count; i++) {
        const struct training_span *span = &training->list[i];
        if (span->part != TRAINING_FORWARD)
            continue;
        if (strcmp(training_name(training, span), "_NoopSaveInputs") == 0) {
            struct training_span whole = *span;
            if (last && last->step == span->step && last->thread == span->thread)
                whole.start_ns = last->end_ns;
            if (training_remove(training, &cause->bound, &whole) != 0 ||
                training_remove(training, &cause->estimate, &whole) != 0)
                return ERR_NO_MEMORY;
        }
        last = span;
    }
    return 0;
}

/* The line that called backward(). The modules of the model run in autograd's thread as well, but the change is not
 * theirs. */
static int name_backward(struct adviser *adviser, const struct training *training, struct advice_cause *cause)
{
    struct places *places;
    struct error err;
    int64_t forward = cause->thread;

    for (size_t i = 0; i < training->count && forward == cause->thread; i++)
        forward = training->list[i].part == TRAINING_FORWARD ? training->list[i].thread : forward;
    if (forward == cause->thread)
        return 0;
    if (adviser_places(adviser, &places, &err) != 0)
        return ERR_NO_MEMORY;
    place_text(&cause->where, places,
               places_line(places, places_at(places, forward, cause->start_ns,
                                             saturating_add(cause->start_ns, cause->duration_ns))));
    return 0;
}

static int recomputation_collect(struct adviser *adviser, struct training *training, struct advice_cause *cause)
{
    struct keys pairs = { .width = 2 };
    int code = training->memory == MEMORY_SCARCE ? 0 : note_forward(&pairs, training);

    for (size_t first = 0, end; first < training->count && code == 0; first = end) {
        end = first + 1;
        if (training->list[first].part != TRAINING_RECOMPUTED)
            continue;
        end = group_end(training, first);
        if (is_like_forward(&pairs, training, first, end))
            code = remove_group(training, cause, first, end);
    }
    keys_free(&pairs);
    if (code != 0 || !cause->count)
        return code;
    if (remove_preparations(training, cause) != 0 || name_backward(adviser, training, cause) != 0)
        return ERR_NO_MEMORY;
    text_add(&cause->what, "activations are computed twice: ");
    human_count(&cause->what, (uint64_t)cause->count / adviser->step_count);
    text_add(&cause->what, " operators");
    cause->advice =
        training->memory == MEMORY_ENOUGH
            ? "PyTorch uses less than half of the GPU's memory: remove checkpoint() from as many layers as fit."
            : "Remove checkpoint() from as many layers as memory allows (--pytorch-memory=true records its "
              "use).";
    return 0;
}

static int find_recomputation(struct adviser *adviser, struct error *err)
{
    return training_find(adviser, recomputation_collect, err);
}

const struct analysis rule_recomputation = {
    .name = "recomputation",
    .title = "Recomputed Activations",
    .help = "Operators of the forward pass that activation checkpointing runs again in the backward pass. The saving "
            "is that of a replay without them. If the report has the use of memory (--pytorch-memory=true) and more "
            "than half of the GPU's memory is in use, there is no finding. Needs operators of PyTorch.",
    .needs = ADVICE_NEEDS,
    ADVICE_RULE(recomputation, .is_of_torch = 1, .advice = "Checkpoint fewer layers if memory allows.",
                .praise = "No activations are computed twice, or memory needs it."),
};
