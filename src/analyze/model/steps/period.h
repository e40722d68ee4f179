/* The steps in a sequence of symbols: its loop, cut where a round begins.
 *
 * A loop has no beginning of its own: ABCABC may be rounds of ABC or of BCA. If the loop was entered and left at the
 * same symbol, its rounds begin there. Otherwise they begin where the program pauses longest, of the two. */
#ifndef TACHO_ANALYZE_MODEL_STEPS_PERIOD_H
#define TACHO_ANALYZE_MODEL_STEPS_PERIOD_H

#include "loops.h"

struct period_step {
    uint32_t first, end; /* places; end: one past the last */
};

struct period {
    struct period_step *steps; /* owned; in order */
    size_t count, room;
    uint32_t sample, length;   /* `length` places from sample, or from any of these, are a usual step */
};

/* ERR_NO_MEMORY or 0; no steps if the sequence has no loop. Needs period_free() in all cases. */
int period_find(struct period *period, const struct sequence *sequence);
void period_free(struct period *period);

#endif
