/* The map of a large job: for each rank the share of each bin of time in which its GPUs worked, instead of events. */
#ifndef TACHO_VIEW_LOAD_RANK_MAP_H
#define TACHO_VIEW_LOAD_RANK_MAP_H

#include "view_state.h"

/* Whether the job is too large for its events to be shown at once, or the map is wanted and can be made. view->ranks
 * has been read. */
int rank_map_is_needed(const struct view *view, int is_wanted);

/* Adds a row of values for each rank. ERR_NO_DATA: no table has the work of ranks. */
int rank_map_read(struct view *view, struct error *err);

/* Gives the rows of hosts the mean of their ranks. ERR_NO_MEMORY or 0. */
int rank_map_means(struct view *view);

#endif
