/* The work of a process's threads in a step without GPU work: they communicate in calls of MPI and similar libraries,
 * and compute while they run outside of those. */
#ifndef TACHO_VIEW_STEPS_STEP_THREADS_H
#define TACHO_VIEW_STEPS_STEP_THREADS_H

#include "strip_works.h"

/* Adds the work of all threads of the process of these steps. If it was not recorded when threads ran, a thread that
 * communicates is taken to compute the rest of the time. ERR_NO_MEMORY or 0. */
int strip_add_threads(struct strip_works *works, const struct view *view, const struct view_row *steps,
                      const struct report_span *span);

#endif
