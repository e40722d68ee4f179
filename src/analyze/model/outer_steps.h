/* Outer steps: the rounds of a loop that marks its steps several times in each round.
 *
 * PPO collects experience, and then updates its model in some epochs of some batches; the losses of a GAN have an
 * optimizer each. Calls of Optimizer.step then come in a rhythm: one long interval, and marks - 1 short ones. The step
 * of such a program is what has all of them. An interval that is long for want of data is no round: its loop asks the
 * GPU for no more than the others do. Neither is a validation now and then, which takes less time than the steps. */
#ifndef TACHO_ANALYZE_MODEL_OUTER_STEPS_H
#define TACHO_ANALYZE_MODEL_OUTER_STEPS_H

#include <stddef.h>
#include <stdint.h>

/* Consecutive intervals. */
struct outer_step {
    size_t first, end;
    int is_whole; /* it begins with a long interval and has as many as is usual; else it is what lies between those */
};

struct outer_steps {
    struct outer_step *list; /* owned; one after the other, over all intervals */
    size_t count, room;
    size_t marks;            /* intervals of a whole one; 1: the marks are the steps, and the list is empty */
};

/* Finds the rhythm in the lengths of intervals, which are in order. ERR_NO_MEMORY or 0; needs outer_steps_free() in
 * both cases. */
int outer_steps_find(struct outer_steps *out, const int64_t *lengths_ns, size_t count);
void outer_steps_free(struct outer_steps *outer);

/* What the program asks for in the intervals of whole outer steps, in any unit: launches, operators. */
struct outer_work {
    uint64_t in_long, in_short;
};
/* Whether the long intervals do more than the short ones, and not only take longer. */
int outer_steps_do_more(const struct outer_steps *outer, struct outer_work work);

#endif
