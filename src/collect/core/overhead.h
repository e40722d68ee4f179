/* What the recording itself cost the program: an estimate from counts, not a measurement. */
#ifndef TACHO_COLLECT_CORE_OVERHEAD_H
#define TACHO_COLLECT_CORE_OVERHEAD_H

#include "collect/options/collect_result.h"

/* What the start of one process took longer, ns of CPU time: as its agent measured itself, and the loading of it, which
 * a forked process does not do. */
int64_t overhead_of_start(const struct wire_header *arena, int forked);

/* Events of each source times what one of them costs on this machine, and the starts (result->start_cost_ns). */
int64_t overhead_estimate(const struct collect_result *result);

#endif
