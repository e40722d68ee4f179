/* What a CPU sample costs the thread that it interrupts, measured on this machine at the end of a capture: the
 * interrupt, in a virtual machine its way through the host, and the copy of the stack. No clock of the program sees
 * that. */
#ifndef TACHO_COLLECT_SOURCES_PERF_SAMPLE_COST_H
#define TACHO_COLLECT_SOURCES_PERF_SAMPLE_COST_H

#include "perf_events.h"

/* ns a sample, with the event and the method of unwinding of the capture, and a copy of so many bytes; 0: not measured.
 * Interrupts this thread some dozen times, for a few milliseconds. */
double sample_cost_measure(const struct perf_choice *choice, size_t stack_bytes);

/* The middle of some gaps between two readings of a clock that a sample may have made; 0 if there are too few. */
int64_t sample_cost_of_gaps(int64_t *gaps_ns, size_t count);

#endif
