/* The steps in a sequence of symbols in which no two rounds are alike: how often a round launches some of its kernels
 * depends on its data, or on the length of a text. Other kernels take turns: each comes once in each round. */
#ifndef TACHO_ANALYZE_MODEL_STEPS_TURNS_H
#define TACHO_ANALYZE_MODEL_STEPS_TURNS_H

#include "period.h"

/* ERR_NO_MEMORY or 0; no steps if the sequence has no kernels that take turns. A usual step is not known: the length of
 * the period is the number of these kernels. Needs period_free() in all cases. */
int turns_find(struct period *period, const struct sequence *sequence);

#endif
