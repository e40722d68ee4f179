/* The parts of a training, as its operators show: passes of autograd, optimizers, clipping. The rules of this folder
 * find their causes in it. */
#ifndef TACHO_ANALYZE_ADVICE_TRAINING_TRAINING_H
#define TACHO_ANALYZE_ADVICE_TRAINING_TRAINING_H

#include "analyze/model/torch/operators.h"
#include "removal.h"

enum training_part {
    TRAINING_NONE,
    TRAINING_FORWARD,    /* an operator that autograd may record, in no other */
    TRAINING_NODE,       /* a node of autograd, other than the next */
    TRAINING_ACCUMULATE, /* a node that adds a gradient to that of a parameter */
    TRAINING_RECOMPUTED, /* an operator of the forward pass in a node */
    TRAINING_NAN_CHECK,  /* anomaly detection looks at the gradients of a node */
    TRAINING_UPDATE,     /* Optimizer.step() */
    TRAINING_ZERO,       /* Optimizer.zero_grad() */
    TRAINING_CLIP,       /* gradients are clipped one by one */
};

/* Whether there is memory for changes that need it: more than half of the GPU's is in use, or less. */
enum training_memory { MEMORY_UNKNOWN, MEMORY_SCARCE, MEMORY_ENOUGH };

struct training_span {
    int64_t thread, start_ns, end_ns;
    uint32_t step;   /* NO_STEP: there are no steps */
    uint32_t update; /* of parameters in its step, from 0: a step of PPO or of a GAN has several */
    uint32_t round;  /* of forward and backward pass before that update, from 0 */
    uint32_t op;     /* an index into the operators */
    enum training_part part;
};

/* Starts from {0}. */
struct training {
    const struct operators *operators; /* of the adviser */
    struct call_works works;
    struct training_span *list;        /* owned; by step, then by start; those of steps that count */
    size_t count, room;
    enum training_memory memory;
};

/* The training in a report. The first call reads it; the adviser owns it. Without operators there are no spans. */
int adviser_training(struct adviser *adviser, struct training **out, struct error *err);

/* Runs a rule that has one cause. collect() adds edits and texts to it and returns ERR_NO_MEMORY or 0. A cause without
 * events is none. */
typedef int training_collect(struct adviser *adviser, struct training *training, struct advice_cause *cause);
int training_find(struct adviser *adviser, training_collect *collect, struct error *err);

/* Counts a span as an event of a cause. */
void training_note(struct advice_cause *cause, const struct training_span *span);
/* Removes a span, or a part of it. ERR_NO_MEMORY or 0. */
int training_remove(const struct training *training, struct replay_edits *edits, const struct training_span *span);

/* The end of the spans of the update that begins at this one: of a step, or of a part of one with several updates. */
size_t training_update_end(const struct training *training, size_t first);

/* The name of the operator of a span. */
static inline const char *training_name(const struct training *training, const struct training_span *span)
{
    return operators_text(training->operators, training->operators->list[span->op].name).bytes;
}

#endif
