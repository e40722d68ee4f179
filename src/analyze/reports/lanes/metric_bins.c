/* Adds samples to bins, and bins to a table. */
#include "metric_bins.h"

#include <stdlib.h>

#include "analyze/engine/cell_text.h"
#include "base/error.h"

const struct table_column metric_map_columns[METRIC_MAP_COLUMNS] = {
    [METRIC_MAP_START] = { "Start", CELL_INT, UNIT_TIME, 0 },
    [METRIC_MAP_DURATION] = { "Duration", CELL_INT, UNIT_NS, 0 },
    [METRIC_MAP_VALUE] = { "Value", CELL_REAL, UNIT_NONE, 3 },
    [METRIC_MAP_METRIC] = { "Metric", CELL_TEXT, UNIT_NAME, 0 },
    [METRIC_MAP_DEVICE] = { "Device", CELL_TEXT, UNIT_NONE, 0 },
};

int metric_bins_new(struct metric_bins *bins, const struct map_grid *grid)
{
    bins->sums = calloc((size_t)grid->bins, sizeof *bins->sums);
    bins->weights = calloc((size_t)grid->bins, sizeof *bins->weights);
    return bins->sums && bins->weights ? 0 : ERR_NO_MEMORY;
}

void metric_bins_free(struct metric_bins *bins)
{
    free(bins->sums);
    free(bins->weights);
}

void metric_bins_add(struct metric_bins *bins, const struct map_grid *grid, int64_t start_ns, int64_t end_ns,
                     double value)
{
    int64_t from = start_ns > grid->from_ns ? start_ns : grid->from_ns;
    int64_t to = end_ns < grid->to_ns ? end_ns : grid->to_ns;

    if (from >= to)
        return;
    for (int64_t bin = map_grid_bin(grid, from); bin < grid->bins && from < to; bin++) {
        int64_t edge = map_grid_edge(grid, bin + 1), until = edge < to ? edge : to;
        bins->sums[bin] += value * (double)(until - from);
        bins->weights[bin] += (double)(until - from);
        from = until;
    }
}

void metric_bins_add_moment(struct metric_bins *bins, const struct map_grid *grid, int64_t time_ns, double value)
{
    if (time_ns < grid->from_ns || time_ns > grid->to_ns)
        return;
    int64_t bin = map_grid_bin(grid, time_ns);
    bins->sums[bin] += value;
    bins->weights[bin] += 1;
}

int metric_bins_add_rows(const struct metric_bins *bins, const struct map_grid *grid, struct table *table,
                         const struct text *metric, const struct text *device)
{
    for (int64_t bin = 0; bin < grid->bins; bin++) {
        struct table_cell *row = table_add_row(table);
        if (!row)
            return ERR_NO_MEMORY;
        cell_set_int(&row[METRIC_MAP_START], map_grid_edge(grid, bin));
        cell_set_int(&row[METRIC_MAP_DURATION], map_grid_edge(grid, bin + 1) - map_grid_edge(grid, bin));
        if (bins->weights[bin] > 0)
            cell_set_real(&row[METRIC_MAP_VALUE], bins->sums[bin] / bins->weights[bin]);
        if (cell_set_built(table, &row[METRIC_MAP_METRIC], metric) != 0 ||
            cell_set_built(table, &row[METRIC_MAP_DEVICE], device) != 0)
            return ERR_NO_MEMORY;
    }
    return 0;
}
