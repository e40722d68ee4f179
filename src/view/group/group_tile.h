/* The tile of a group: the work of all rows below it, as one row with a lane for each class of work. */
#ifndef TACHO_VIEW_GROUP_GROUP_TILE_H
#define TACHO_VIEW_GROUP_GROUP_TILE_H

#include "view/load/view_state.h"

struct group_stretch {
    int level;              /* a pixel is 2^level ns */
    int64_t from_ns, to_ns; /* in the report's time; TILE_PIXELS */
};

/* Appends the slices and the dense parts of a span. ERR_NO_MEMORY or 0. */
int group_tile(struct view *view, int row, const struct group_stretch *stretch, struct text *slices,
               struct text *parts);
/* The event of a class of work (enum work_lane) that is nearest to a time, the shortest of those that contain it.
 * Returns its distance, or -1 if there is none. */
int64_t group_nearest(const struct view *view, int row, unsigned lane, int64_t time_ns, int *found_row,
                      uint32_t *found_event);

#endif
