/* The points of a counter: its values over time, and the least and greatest value of any run of them without a look at
 * each.
 *
 * The points of a row are in order of time. A pyramid has the least and the greatest value of each BLOCK of points, of
 * each BLOCK of those, and so on, as event_index.h does for events. */
#ifndef TACHO_VIEW_LOAD_COUNTER_POINTS_H
#define TACHO_VIEW_LOAD_COUNTER_POINTS_H

#include "view_state.h"

void points_free(struct view_points *points);

/* Adds a point; they may come in any order. ERR_NO_MEMORY or 0. */
int points_add(struct view_points *points, int64_t time_ns, double value);
/* Sorts the points and builds the pyramid. If is_sum, each value is the change from the one before. ERR_NO_MEMORY or 0.
 */
int points_arrange(struct view_points *points, int is_sum);
/* Moves times into the span. */
void points_cut(struct view_points *points, int64_t least_ns, int64_t most_ns);

/* The first point at this time or later. */
uint32_t points_from(const struct view_points *points, int64_t time_ns);
struct points_range {
    double min, max;
};
/* The least and the greatest value of points from … to - 1, which must not be empty. */
struct points_range points_range(const struct view_points *points, uint32_t from, uint32_t to);

#endif
