/* An index over the events of a row: the sum of the lengths of a run of events, and the longest event of a run, without
 * a look at each.
 *
 * The index is a pyramid. For each BLOCK of events it has the sum of all lengths before the block and the longest event
 * of the block; for BLOCK of those, again the longest event, and so on. A query reads the blocks inside its run and the
 * events before and after them, some BLOCK steps for each level. The index takes little more than a byte for each
 * event. Length and name of a longest event are stored in it: looking them up in all events of the row would take most
 * of the time of a query. The lanes of a row lie one after another in its events, so one index serves all of them. */
#ifndef TACHO_VIEW_LOAD_EVENT_INDEX_H
#define TACHO_VIEW_LOAD_EVENT_INDEX_H

#include "view_state.h"

/* Builds the index, in place of one that is there. ERR_NO_MEMORY or 0. */
int index_build(struct view_events *events);
void index_free(struct view_index *index);

/* The sum of the lengths of events from … to - 1, modulo 2^64. */
uint64_t index_sum(const struct view_events *events, uint32_t from, uint32_t to);
/* Bits of the kinds of work that the events are. */
unsigned index_works(const struct view_events *events);
/* Events of one kind: how many, how long together, and the longest of them. */
struct index_work {
    uint32_t count, longest_ns, name; /* LENGTH_IS_LONG: as long or longer */
    uint64_t sum_ns;
};
/* Adds events from … to - 1 to the list of all kinds. */
void index_add_works(const struct view_events *events, uint32_t from, uint32_t to, struct index_work works[WORK_KINDS]);
/* The longest event from … to - 1, the first of equals; the run must not be empty. */
struct index_longest {
    uint32_t event, length_ns, name; /* LENGTH_IS_LONG: see view_events */
};
struct index_longest index_longest(const struct view_events *events, uint32_t from, uint32_t to);

#endif
