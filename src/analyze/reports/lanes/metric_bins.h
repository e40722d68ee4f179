/* The means of a metric in the bins of a map, and the rows that show them. */
#ifndef TACHO_ANALYZE_REPORTS_LANES_METRIC_BINS_H
#define TACHO_ANALYZE_REPORTS_LANES_METRIC_BINS_H

#include "analyze/engine/table.h"
#include "base/text.h"
#include "map_grid.h"

/* By bin: the sum of values times their weights, and the weights: the ns that samples are about, or their number. */
struct metric_bins {
    double *sums, *weights; /* owned */
};

/* ERR_NO_MEMORY or 0. Free them in any case. */
int metric_bins_new(struct metric_bins *bins, const struct map_grid *grid);
void metric_bins_free(struct metric_bins *bins);

/* Adds a sample about a span of time, or about a moment. Time outside the grid does not count. */
void metric_bins_add(struct metric_bins *bins, const struct map_grid *grid, int64_t start_ns, int64_t end_ns,
                     double value);
void metric_bins_add_moment(struct metric_bins *bins, const struct map_grid *grid, int64_t time_ns, double value);

enum {
    METRIC_MAP_START,
    METRIC_MAP_DURATION,
    METRIC_MAP_VALUE,
    METRIC_MAP_METRIC,
    METRIC_MAP_DEVICE,
    METRIC_MAP_COLUMNS
};
extern const struct table_column metric_map_columns[METRIC_MAP_COLUMNS];

/* A row for each bin; those without samples have no value. */
int metric_bins_add_rows(const struct metric_bins *bins, const struct map_grid *grid, struct table *table,
                         const struct text *metric, const struct text *device);

#endif
