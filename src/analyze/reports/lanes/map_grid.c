/* Times of a damaged report may be any numbers: a grid has no end farther away than half of all numbers. */
#include "map_grid.h"

#include "analyze/engine/report_options.h"
#include "analyze/model/recorded.h"

enum { MOST_BINS = 10000, USUAL_BINS = 30 };

/* The time of the report; of a capture with a range, that of the range. */
static int map_grid_whole(struct report_span *span, struct report *report, struct error *err)
{
    struct recorded recorded;
    int code = recorded_read(&recorded, report, err);

    if (code != 0)
        return code;
    *span = report_times(report);
    if (recorded.is_part && recorded.count)
        *span = (struct report_span){ recorded.spans[0].from_ns, recorded.spans[recorded.count - 1].to_ns };
    recorded_free(&recorded);
    return 0;
}

int map_grid_find(struct map_grid *grid, struct report *report, const struct analysis_request *request,
                  struct error *err)
{
    const int64_t farthest = INT64_MAX / 2;
    struct report_span span;
    int code = option_number(request, "bins", USUAL_BINS, 1, MOST_BINS, &grid->bins, err);

    if (code != 0 || (code = map_grid_whole(&span, report, err)) != 0)
        return code;
    if (request->span && request->span->from_ns > -farthest)
        span.from_ns = request->span->from_ns;
    if (request->span && request->span->to_ns < farthest)
        span.to_ns = request->span->to_ns;
    grid->from_ns = span.from_ns;
    grid->to_ns = span.to_ns;
    if (span.to_ns <= span.from_ns || span.to_ns > farthest || span.from_ns < -farthest)
        return error_set(err, ERR_NO_DATA, "there is no time to divide into bins");
    return 0;
}

int64_t map_grid_bin(const struct map_grid *grid, int64_t time_ns)
{
    int64_t bin = (int64_t)((__int128)(time_ns - grid->from_ns) * grid->bins / (grid->to_ns - grid->from_ns));

    while (bin + 1 < grid->bins && map_grid_edge(grid, bin + 1) <= time_ns)
        bin++;
    return bin < grid->bins ? bin : grid->bins - 1;
}
