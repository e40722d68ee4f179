/* A pool of threads for loops whose turns do not depend on each other.
 *
 * Threads start with the first loop that is worth them. The caller works too, so a pool of one has no
 * threads. A loop that is started while another one runs (from inside it, or from another thread) runs in its
 * caller alone: nothing waits. */
#ifndef TACHO_BASE_PARALLEL_H
#define TACHO_BASE_PARALLEL_H

#include <stddef.h>

struct parallel;

/* workers 0: as many as the process may use cores. NULL when memory is short. */
struct parallel *parallel_new(int workers);
void parallel_delete(struct parallel *pool);

/* Calls body(argument, worker, i) for each i below count; worker is below parallel_workers() and no two turns of a loop
 * that run at the same time have the same one. Returns when all are done. pool may be NULL: the caller does it all. */
void parallel_for(struct parallel *pool, size_t count, void (*body)(void *argument, int worker, size_t i),
                  void *argument);
int parallel_workers(const struct parallel *pool);

/* Cores that this process may run on, at least 1. */
int parallel_cores(void);

#endif
