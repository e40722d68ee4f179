/* Values over time: where they come from, and what is asked of a run of them without looking at each.
 *
 * The points of a row are in order of time. Over each BLOCK of them there are the least and the greatest value, over
 * BLOCK of those again, and so on, as event_index.h has it for events. */
#ifndef TACHO_VIEW_LOAD_COUNTER_POINTS_H
#define TACHO_VIEW_LOAD_COUNTER_POINTS_H

#include "view_state.h"

/* Every counter that the report has becomes a leaf of the view. */
int points_read(struct view *view, struct error *err);
void points_free(struct view_points *points);

/* One more, in any order. ERR_NO_MEMORY or 0. */
int points_add(struct view_points *points, int64_t time_ns, double value);
/* Brings them in order and builds the pyramid; of sums, each value is a change to the one
 * before. ERR_NO_MEMORY or 0. */
int points_arrange(struct view_points *points, int is_sum);
/* Moves times into the span. */
void points_cut(struct view_points *points, int64_t least_ns, int64_t most_ns);

/* The first point at this time or later. */
uint32_t points_from(const struct view_points *points, int64_t time_ns);
struct points_range {
    double min, max;
};
/* Of the points from … to - 1, of which there must be one. */
struct points_range points_range(const struct view_points *points, uint32_t from, uint32_t to);

#endif
