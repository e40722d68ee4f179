/* Timed steps that are alike. In a loop that calls Optimizer.step several times in each round, a step is a round
 * (outer_steps.h). */
#ifndef TACHO_ANALYZE_MODEL_TIMED_ROUNDS_H
#define TACHO_ANALYZE_MODEL_TIMED_ROUNDS_H

#include "timed_steps.h"

/* Leaves steps that are alike. Steps by a mark that another one replaced are dropped: calls of a module are steps until
 * an optimizer shows that a step has several of them. Marks of a thread that come in a rhythm are joined: such a step
 * has a phase if all of its marks have, and else it settles, as does what lies between two whole ones. Traced steps of
 * more than twice the median settle, too. */
int timed_rounds_settle(struct timed_steps *steps, struct report *report, struct error *err);

#endif
