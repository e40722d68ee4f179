/* gpu_metric_util_map, network_traffic_map and network_sum: metrics that were sampled, over time and in sum. */
#include <stdlib.h>

#include "analyze/engine/cell_text.h"
#include "analyze/engine/report_run.h"
#include "analyze/model/metrics/gpu_metrics.h"
#include "analyze/registry.h"
#include "base/saturating.h"
#include "metric_bins.h"
#include "nic_metrics.h"

/* ---- maps -------------------------------------------------------------------------------------------------------*/

/* A metric of a device, with its samples. */
struct mapped {
    struct metric_bins bins;
    struct text name, device;
};

/* After a failure there is nothing to free. */
static int mapped_begin(struct mapped *mapped, const struct map_grid *grid)
{
    *mapped = (struct mapped){ 0 };
    int code = metric_bins_new(&mapped->bins, grid);
    if (code != 0)
        metric_bins_free(&mapped->bins);
    return code;
}

/* Adds the rows of the metric. */
static int mapped_end(struct mapped *mapped, const struct map_grid *grid, struct table *table)
{
    int code = metric_bins_add_rows(&mapped->bins, grid, table, &mapped->name, &mapped->device);

    metric_bins_free(&mapped->bins);
    text_free(&mapped->name);
    text_free(&mapped->device);
    return code;
}

static int add_gpu_metric(struct table *table, struct report *report, const struct map_grid *grid,
                          const struct gpu_metrics *metrics, const struct gpu_metric *metric)
{
    const struct gpu_clock *clock = &metrics->clocks[metric->clock];
    struct mapped mapped;
    int code = mapped_begin(&mapped, grid);

    if (code != 0)
        return code;
    for (size_t i = 0; i < clock->count; i++)
        metric_bins_add(&mapped.bins, grid, clock->start[i], clock->end[i], metric->values[i]);
    gpu_metric_add_name(&mapped.name, report, metric);
    text_addf(&mapped.device, "GPU %lld", (long long)metric->gpu);
    return mapped_end(&mapped, grid, table);
}

static int gpu_metric_util_map(struct report *report, const struct analysis_request *request, struct table **out,
                               struct error *err)
{
    struct table *table = table_new(metric_map_columns, METRIC_MAP_COLUMNS);
    struct gpu_metrics metrics = { 0 };
    struct map_grid grid;
    int code;

    if ((code = map_grid_find(&grid, report, request, err)) != 0)
        goto done;
    if ((code = gpu_metrics_read(&metrics, report, request, err)) != 0)
        goto done;
    code = table ? 0 : ERR_NO_MEMORY;
    for (size_t i = 0; i < metrics.count && table; i++)
        if ((code = add_gpu_metric(table, report, &grid, &metrics, &metrics.list[i])) != 0)
            goto done;
done:
    gpu_metrics_free(&metrics);
    return table_hand_over(table, code, out, err);
}

static int add_nic_metric(struct table *table, const struct map_grid *grid, const struct nic_metrics *metrics,
                          uint32_t series)
{
    int64_t *const *values = metrics->samples.values;
    struct mapped mapped;
    int code = mapped_begin(&mapped, grid);

    if (code != 0)
        return code;
    for (size_t row = 0; row < metrics->samples.rows; row++)
        if (metrics->series_of[row] == series)
            metric_bins_add(&mapped.bins, grid, values[NIC_START][row], values[NIC_END][row],
                            (double)values[NIC_VALUE][row]);
    nic_metrics_add_name(&mapped.name, metrics, series);
    nic_metrics_add_device(&mapped.device, metrics, series);
    return mapped_end(&mapped, grid, table);
}

static int network_traffic_map(struct report *report, const struct analysis_request *request, struct table **out,
                               struct error *err)
{
    struct table *table = table_new(metric_map_columns, METRIC_MAP_COLUMNS);
    struct nic_metrics metrics = { 0 };
    struct map_grid grid;
    int code;

    if ((code = map_grid_find(&grid, report, request, err)) != 0)
        goto done;
    if ((code = nic_metrics_read(&metrics, report, request, err)) != 0)
        goto done;
    code = table ? 0 : ERR_NO_MEMORY;
    for (uint32_t series = 0; series < metrics.series.count && table; series++)
        if ((code = add_nic_metric(table, &grid, &metrics, series)) != 0)
            goto done;
done:
    nic_metrics_free(&metrics);
    return table_hand_over(table, code, out, err);
}

/* ---- sums -------------------------------------------------------------------------------------------------------*/

enum {
    SUM_DEVICE,
    SUM_TOTAL,
    SUM_COUNT,
    SUM_MEAN,
    SUM_MEDIAN,
    SUM_LEAST,
    SUM_GREATEST,
    SUM_DEVIATION,
    SUM_METRIC,
    SUMS
};
static const struct table_column metric_maps_sum_columns[SUMS] = {
    { "Device", CELL_TEXT, UNIT_NONE, 0 }, { "Total", CELL_INT, UNIT_NONE, 0 },   { "Samples", CELL_INT, UNIT_NONE, 0 },
    { "Avg", CELL_REAL, UNIT_NONE, 1 },    { "Med", CELL_REAL, UNIT_NONE, 1 },    { "Min", CELL_INT, UNIT_NONE, 0 },
    { "Max", CELL_INT, UNIT_NONE, 0 },     { "StdDev", CELL_REAL, UNIT_NONE, 1 }, { "Metric", CELL_TEXT, UNIT_NAME, 0 },
};

static int metric_maps_add_sum(struct table *table, const struct nic_metrics *metrics, uint32_t series,
                               const struct keys_figures *figures)
{
    struct text name = { 0 }, device = { 0 };
    struct table_cell *row = table_add_row(table);

    if (!row)
        return ERR_NO_MEMORY;
    nic_metrics_add_name(&name, metrics, series);
    nic_metrics_add_device(&device, metrics, series);
    cell_set_int(&row[SUM_TOTAL], (int64_t)figures->figures.total);
    cell_set_int(&row[SUM_COUNT], (int64_t)figures->figures.count);
    cell_set_real(&row[SUM_MEAN], statistics_mean(&figures->figures));
    cell_set_real(&row[SUM_MEDIAN], figures->median);
    cell_set_int(&row[SUM_LEAST], figures->figures.min);
    cell_set_int(&row[SUM_GREATEST], figures->figures.max);
    cell_set_real(&row[SUM_DEVIATION], statistics_deviation(&figures->figures));
    int failed = cell_set_built(table, &row[SUM_METRIC], &name);
    failed |= cell_set_built(table, &row[SUM_DEVICE], &device);
    text_free(&name);
    text_free(&device);
    return failed ? ERR_NO_MEMORY : 0;
}

static int metric_maps_fill_sums(struct table *table, const struct nic_metrics *metrics)
{
    size_t count = metrics->series.count;
    struct keys_figures *figures = calloc(count + 1, sizeof *figures);
    int code = ERR_NO_MEMORY;

    if (!figures ||
        keys_summarize(figures, count, metrics->series_of,
                       metrics->samples.rows ? metrics->samples.values[NIC_VALUE] : NULL, metrics->samples.rows) != 0)
        goto free_figures;
    for (uint32_t series = 0; series < count; series++)
        if ((code = metric_maps_add_sum(table, metrics, series, &figures[series])) != 0)
            goto free_figures;
    code = 0;
    table_sort_by(table, BY(SUM_DEVICE, SUM_METRIC));
free_figures:
    free(figures);
    return code;
}

REPORT_RUN(network_sum, struct nic_metrics, metric_maps_sum_columns, nic_metrics_read, metric_maps_fill_sums,
           nic_metrics_free)

const struct analysis analysis_gpu_metric_util_map = {
    .name = "gpu_metric_util_map",
    .title = "GPU Metric Utilization Heatmap",
    .usage = MAP_GRID_USAGE,
    .help = "For each GPU metric: its mean in each span of time, weighted by the time that samples are about. bins: "
            "as in cuda_gpu_time_util_map.",
    .needs = { { "GPU metrics", gpu_metrics_tables } },
    .is_of_gpus = 1,
    .run = gpu_metric_util_map,
};

const struct analysis analysis_network_traffic_map = {
    .name = "network_traffic_map",
    .title = "Network Devices Traffic Heatmap",
    .usage = MAP_GRID_USAGE,
    .help = "For each metric of each port of a network interface: the mean of its samples in each span of time. "
            "bins: as in cuda_gpu_time_util_map.",
    .needs = { { "network interface metrics", nic_metrics_tables } },
    .run = network_traffic_map,
};

const struct analysis analysis_network_sum = {
    .name = "network_sum",
    .title = "Network Traffic Summary",
    .help = "Samples of each metric of each port of a network interface, in sum.",
    .needs = { { "network interface metrics", nic_metrics_tables } },
    .run = network_sum,
};
