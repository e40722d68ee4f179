/* A pool of threads for loops whose iterations do not depend on each other.
 *
 * The threads start with the first loop that is worth them. The caller works too, so a pool of one has no threads. A
 * loop that starts while another one runs (from inside it, or from another thread) runs in its caller alone, so that
 * nothing waits. */
#ifndef TACHO_BASE_PARALLEL_H
#define TACHO_BASE_PARALLEL_H

#include <stddef.h>

struct parallel;

/* workers 0: one for each core that the process may use. NULL when memory is short. */
struct parallel *parallel_new(int workers);
void parallel_delete(struct parallel *pool);

/* Calls body(argument, worker, i) for each i below count, and returns when all calls have returned. `worker` is
 * below parallel_workers(), and no two calls that run at the same time have the same one. `pool` may be NULL: the
 * caller then makes all calls. */
void parallel_for(struct parallel *pool, size_t count, void (*body)(void *argument, int worker, size_t i),
                  void *argument);
int parallel_workers(const struct parallel *pool);

/* Cores that this process may run on, at least 1. */
int parallel_cores(void);

#endif
