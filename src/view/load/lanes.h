/* The order of a row's events, and their lanes. */
#ifndef TACHO_VIEW_LOAD_LANES_H
#define TACHO_VIEW_LOAD_LANES_H

#include "view_state.h"

/* Allocates room for events, without any. ERR_NO_MEMORY or 0. */
int events_allocate(struct view_events *events, uint32_t count, uint32_t long_count);
void events_free(struct view_events *events); /* {0} is fine */

/* Sorts raw events, which have no lanes and no order, by lane and start. Events with more than VIEW_MOST_LANES lanes
 * become several parts. The caller owns *parts; `raw` is freed in any case. ERR_NO_MEMORY or 0. */
int events_arrange(struct view_events *raw, struct view_events **parts, size_t *part_count);

/* Moves times into the span, and builds the index anew. ERR_NO_MEMORY or 0. */
int events_cut(struct view_events *events, int64_t least_ns, int64_t most_ns);

#endif
