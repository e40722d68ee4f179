/* The overhead of the recording in the program: an estimate from counts, not a measurement. */
#ifndef TACHO_COLLECT_CORE_OVERHEAD_H
#define TACHO_COLLECT_CORE_OVERHEAD_H

#include "collect/options/collect_result.h"

/* What one reading of the clock takes on this machine, ns: overhead_of_counts() takes it as read_ns. */
double overhead_read_ns(void);

/* What these events of a source (enum wire_source) took, ns. */
double overhead_of_counts(int source, const struct collect_counts *counts, double read_ns);

/* CPU time in ns that the start of one process took longer: the agent's own measurement, plus the time to load it,
 * which a forked process does not need. */
int64_t overhead_of_start(const struct wire_header *arena, int forked);

/* Sets the costs: events of each source times the cost of one event on this machine, and the sum, with the starts. */
void overhead_estimate(struct collect_result *result);

#endif
