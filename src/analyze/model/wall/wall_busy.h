/* Which other thread worked while one waited for events: the main thread of a server only waits. */
#ifndef TACHO_ANALYZE_MODEL_WALL_WALL_BUSY_H
#define TACHO_ANALYZE_MODEL_WALL_WALL_BUSY_H

#include "wall_threads.h"

/* The thread of the same process that worked longest in this time, if that is a tenth of the time at least; of the
 * first WALL_MOST_ASKED. 0: none. */
int64_t wall_busiest_other(const struct wall_threads *threads, int64_t thread, int64_t from_ns, int64_t to_ns);

/* The last time in which it was at work there; an empty span: it was not. */
struct report_span wall_work_before(const struct wall_threads *threads, int64_t thread, int64_t from_ns, int64_t to_ns);

#endif
