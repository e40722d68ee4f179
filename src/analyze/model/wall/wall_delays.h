/* How long threads that were woken up waited for a CPU. */
#ifndef TACHO_ANALYZE_MODEL_WALL_WALL_DELAYS_H
#define TACHO_ANALYZE_MODEL_WALL_WALL_DELAYS_H

#include "analyze/model/stacks/thread_spans.h"

/* Cuts off the ends of waits in which their threads were woken up already, and adds them to `ready`, as unsorted spans.
 * Context switches do not say when a thread was woken, but the kernel knows how long it stood in run queues in all: of
 * what is left of that without preemption, each wait has the same part, as far as it is that long. Threads
 * with few waits keep theirs.
 *
 * off_cpu: from thread_spans_off_cpu(), outermost ones. */
int wall_delays_cut(struct thread_spans *off_cpu, struct thread_spans *ready, struct report *report, struct error *err);

#endif
