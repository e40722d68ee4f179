/* Lengths of events, and the search by time in a lane. */
#ifndef TACHO_VIEW_LOAD_EVENT_SEARCH_H
#define TACHO_VIEW_LOAD_EVENT_SEARCH_H

#include "view_state.h"

int64_t events_long_length(const struct view_events *events, uint32_t event);
/* The index in events->longer of the first entry from this event on. */
uint32_t events_long_from(const struct view_events *events, uint32_t event);
static inline int64_t event_length(const struct view_events *events, uint32_t event)
{
    return events->length_ns[event] != LENGTH_IS_LONG ? (int64_t)events->length_ns[event]
                                                      : events_long_length(events, event);
}
static inline int64_t event_end(const struct view_events *events, uint32_t event)
{
    return events->start_ns[event] + event_length(events, event);
}
/* An answer about gaps may give an event another name while others read it. */
static inline uint32_t event_name(const struct view_events *events, uint32_t event)
{
    return __atomic_load_n(&events->name[event], __ATOMIC_RELAXED);
}
uint32_t events_lane(const struct view_events *events, uint32_t event);
/* The first event of the lane that starts at this time or later; events->lanes[lane + 1] if there is none. */
uint32_t events_from(const struct view_events *events, uint32_t lane, int64_t time_ns);
/* The same among from … end - 1 of a lane, fast if the result is near from + guess: galloping search from there, then
 * binary search. */
uint32_t events_gallop(const struct view_events *events, uint32_t from, uint32_t end, int64_t time_ns, uint32_t guess);
/* The first event that ends after this time, or starts at it or later. */
uint32_t events_reaching(const struct view_events *events, uint32_t lane, int64_t time_ns);

#endif
