/* The bins of equal length into which a map divides time. */
#ifndef TACHO_ANALYZE_REPORTS_LANES_MAP_GRID_H
#define TACHO_ANALYZE_REPORTS_LANES_MAP_GRID_H

#include "analyze/engine/request.h"
#include "base/error.h"

#define MAP_GRID_USAGE "[:bins=<count>]"

/* Equal as far as whole ns allow that. */
struct map_grid {
    int64_t from_ns, to_ns, bins;
};

/* Reads the option bins. The grid is over the span of the request, and over that of the report where the request's is
 * open. ERR_NO_DATA if there is no time in it. */
int map_grid_find(struct map_grid *grid, struct report *report, const struct analysis_request *request,
                  struct error *err);

/* The begin of a bin; that of bin `bins` is the end of the grid. */
static inline int64_t map_grid_edge(const struct map_grid *grid, int64_t bin)
{
    return grid->from_ns + (int64_t)((__int128)(grid->to_ns - grid->from_ns) * bin / grid->bins);
}

/* The bin of a moment in the grid. */
int64_t map_grid_bin(const struct map_grid *grid, int64_t time_ns);

#endif
