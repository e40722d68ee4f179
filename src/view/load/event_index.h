/* What is asked of a run of events without looking at each: how long they are together, and which is the longest.
 *
 * Events are taken BLOCK at a time. For each block there are the sum of all lengths before it and its longest event;
 * of BLOCK such blocks again the longest, and so on: a pyramid. A question about a run looks at the blocks inside it
 * and at the events before and behind them, so it costs some BLOCK steps for each level, and the whole takes little
 * more than a byte for each event. The length and the name of a longest event stand beside it: looking them up in
 * all the row's events would take most of a question's time. Lanes lie one behind another in a row's events, so one
 * index serves all of them. */
#ifndef TACHO_VIEW_LOAD_EVENT_INDEX_H
#define TACHO_VIEW_LOAD_EVENT_INDEX_H

#include "view_state.h"

/* ERR_NO_MEMORY or 0; what was there is replaced. */
int index_build(struct view_events *events);
void index_free(struct view_index *index);

/* Sum of the lengths of events from … to - 1; it wraps where lengths do not fit. */
uint64_t index_sum(const struct view_events *events, uint32_t from, uint32_t to);
/* The name of the longest of them, the first of equals; there must be one. */
uint32_t index_longest_name(const struct view_events *events, uint32_t from, uint32_t to);

#endif
