/* What the recording itself cost the program: an estimate from counts, not a measurement. */
#ifndef TACHO_COLLECT_COST_H
#define TACHO_COLLECT_COST_H

#include "collect.h"

/* Events of each source times what one of them costs on this machine. */
int64_t cost_estimate(const struct collect_result *result);

#endif
