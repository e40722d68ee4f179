/* cuda_gpu_time_util_map and those of MPI, NCCL and UCX: for each rank and GPU the share of each bin in which kernels
 * ran, or calls were under way; concurrent ones count once. */
#include "analyze/registry.h"
#include "map_grid.h"
#include "rank_lanes.h"

enum { MOST_SERIES = 4 };

/* A column of a map: the time that events of one of the kinds cover, or if `and_kinds` is not 0, the time that events
 * of both cover. */
struct map_series {
    const char *name;
    unsigned kinds, and_kinds;
};

struct map_shape {
    struct lane_source sources[5];
    size_t source_count;
    int by_device;
    int (*kind_of)(struct report *report, const struct lane_event *event); /* NULL: that of the source */
    struct map_series series[MOST_SERIES];
    size_t series_count;
};

enum { AT, FIRST_SERIES };

/* Rank and PID follow the series; lanes by GPU add the device. */
static struct table *util_map_new_table(const struct map_shape *shape)
{
    struct table_column columns[FIRST_SERIES + MOST_SERIES + 4] = { { "Start", CELL_INT, UNIT_TIME, 0 },
                                                                    { "Duration", CELL_INT, UNIT_NS, 0 } };
    size_t count = FIRST_SERIES + 1;

    for (size_t i = 0; i < shape->series_count; i++)
        columns[count++] = (struct table_column){ shape->series[i].name, CELL_REAL, UNIT_PERCENT, 1 };
    columns[count++] = (struct table_column){ "PID", CELL_INT, UNIT_ID, 0 };
    if (shape->by_device)
        columns[count++] = (struct table_column){ "Device ID", CELL_INT, UNIT_ID, 0 };
    columns[count++] = (struct table_column){ "Rank", CELL_INT, UNIT_ID, 0 };
    return table_new(columns, count);
}

static int cover_series(const struct lanes *lanes, uint32_t lane, const struct map_series *series, struct coverage *out)
{
    struct coverage first = { 0 }, second = { 0 };
    int code = lanes_cover(lanes, lane, series->kinds, 1, &first);

    if (code != 0)
        goto free_both;
    if (!series->and_kinds) {
        *out = first;
        return 0;
    }
    if ((code = lanes_cover(lanes, lane, series->and_kinds, 1, &second)) != 0)
        goto free_both;
    code = coverage_common(out, &first, &second);
free_both:
    coverage_free(&first);
    coverage_free(&second);
    return code;
}

static int util_map_add_bins(struct table *table, const struct lanes *lanes, uint32_t lane,
                             const struct map_shape *shape, const struct map_grid *grid, const struct coverage *covered)
{
    for (int64_t bin = 0; bin < grid->bins; bin++) {
        int64_t from = map_grid_edge(grid, bin), to = map_grid_edge(grid, bin + 1);
        struct table_cell *row = table_add_row(table);
        if (!row)
            return ERR_NO_MEMORY;
        cell_set_int(&row[AT], from);
        cell_set_int(&row[AT + 1], to - from);
        struct table_cell *cell = &row[FIRST_SERIES + 1];
        for (size_t i = 0; i < shape->series_count; i++, cell++)
            cell_set_real(cell,
                          to > from ? 100.0 * (double)coverage_within(&covered[i], from, to) / (double)(to - from) : 0);
        lane_set_cells(lanes, lane, &cell[shape->by_device ? 2 : 1], cell, shape->by_device ? &cell[1] : NULL);
    }
    return 0;
}

static int util_map_add_lane(struct table *table, const struct lanes *lanes, uint32_t lane,
                             const struct map_shape *shape, const struct map_grid *grid)
{
    struct coverage covered[MOST_SERIES] = { 0 };
    int code = 0;

    for (size_t i = 0; i < shape->series_count; i++)
        if ((code = cover_series(lanes, lane, &shape->series[i], &covered[i])) != 0)
            goto free_covered;
    code = util_map_add_bins(table, lanes, lane, shape, grid, covered);
free_covered:
    for (size_t i = 0; i < shape->series_count; i++)
        coverage_free(&covered[i]);
    return code;
}

static int util_map_fill_table(struct table *table, struct lanes *lanes, struct report *report,
                               const struct map_shape *shape, const struct map_grid *grid)
{
    for (size_t i = 0; i < lanes->count && shape->kind_of; i++)
        lanes->events[i].kind = shape->kind_of(report, &lanes->events[i]);
    for (size_t i = 0; i < lanes->keys.count; i++)
        if (util_map_add_lane(table, lanes, lanes->order[i], shape, grid) != 0)
            return ERR_NO_MEMORY;
    return 0;
}

static int util_map_make_map(struct report *report, const struct analysis_request *request, const void *as,
                             struct table **out, struct error *err)
{
    const struct map_shape *shape = as;
    struct table *table = util_map_new_table(shape);
    struct lanes lanes = { 0 };
    struct map_grid grid;
    int code;

    if ((code = map_grid_find(&grid, report, request, err)) != 0)
        goto done;
    if ((code = lanes_read(&lanes, report, request, shape->sources, shape->source_count, shape->by_device, err)) != 0)
        goto done;
    code = table ? util_map_fill_table(table, &lanes, report, shape, &grid) : ERR_NO_MEMORY;
done:
    lanes_free(&lanes);
    return table_hand_over(table, code, out, err);
}

/* ---- the maps ---------------------------------------------------------------------------------------------------*/

enum { KERNEL, CALL };
#define BIT(kind) (1u << (kind))
#define KERNELS { "CUPTI_ACTIVITY_KIND_KERNEL", KERNEL, "shortName", "demangledName", 1 }
#define CALLS(table) { table, CALL, "textId", NULL, 0 }
#define WITH_CALLS(name)                                                                                               \
    { { "Kernel", BIT(KERNEL), 0 }, { name, BIT(CALL), 0 }, { "Overlap", BIT(KERNEL), BIT(CALL) } }

static const struct map_shape cuda_shape = { .sources = { KERNELS },
                                             .source_count = 1,
                                             .by_device = 1,
                                             .series = { { "Kernel", BIT(KERNEL), 0 } },
                                             .series_count = 1 };

static const struct map_shape mpi_shape = {
    .sources = { KERNELS, CALLS("MPI_P2P_EVENTS"), CALLS("MPI_COLLECTIVES_EVENTS"), CALLS("MPI_START_WAIT_EVENTS"),
                 CALLS("MPI_OTHER_EVENTS") },
    .source_count = 5,
    .series = WITH_CALLS("MPI"),
    .series_count = 3,
};

static const struct map_shape ucx_shape = {
    .sources = { KERNELS, CALLS("UCP_SUBMIT_EVENTS"), CALLS("UCP_PROGRESS_EVENTS"), CALLS("UCP_EVENTS") },
    .source_count = 4,
    .series = WITH_CALLS("UCX"),
    .series_count = 3,
};

/* Kernels of NCCL are the calls here. */
static int kind_of_kernel(struct report *report, const struct lane_event *event)
{
    return lane_is_nccl_kernel(report, event) ? CALL : KERNEL;
}

static const struct map_shape nccl_shape = {
    .sources = { KERNELS },
    .source_count = 1,
    .by_device = 1,
    .kind_of = kind_of_kernel,
    .series = { { "All", BIT(KERNEL) | BIT(CALL), 0 },
                { "NCCL", BIT(CALL), 0 },
                { "Compute", BIT(KERNEL), 0 },
                { "Overlap", BIT(KERNEL), BIT(CALL) } },
    .series_count = 4,
};

static const char *const util_map_kernel_tables[] = { "CUPTI_ACTIVITY_KIND_KERNEL", NULL };

const struct analysis analysis_cuda_gpu_time_util_map = {
    .name = "cuda_gpu_time_util_map",
    .title = "CUDA GPU Time Utilization Heatmap",
    .usage = MAP_GRID_USAGE,
    .help = "For each rank, process and GPU: the share of each span of time in which kernels ran; kernels side by "
            "side count once. bins: the number of spans into which the time is divided, 30 by default.",
    .needs = { { "CUDA kernel data", util_map_kernel_tables } },
    .is_of_gpus = 1,
    .run_as = util_map_make_map,
    .as = &cuda_shape,
};

const struct analysis analysis_mpi_gpu_time_util_map = {
    .name = "mpi_gpu_time_util_map",
    .title = "MPI and GPU Time Utilization Heatmap",
    .usage = MAP_GRID_USAGE,
    .help = "For each rank and process: the share of each span of time in which kernels ran, in which a thread was "
            "in MPI, and in which both was so. bins: as in cuda_gpu_time_util_map.",
    .needs = { { "MPI event data",
                 TABLES("MPI_P2P_EVENTS", "MPI_COLLECTIVES_EVENTS", "MPI_START_WAIT_EVENTS", "MPI_OTHER_EVENTS") } },
    .run_as = util_map_make_map,
    .as = &mpi_shape,
};

const struct analysis analysis_nccl_gpu_time_util_map = {
    .name = "nccl_gpu_time_util_map",
    .title = "NCCL GPU Time Utilization Heatmap",
    .usage = MAP_GRID_USAGE,
    .help = "For each rank, process and GPU: the share of each span of time in which kernels ran, kernels of NCCL "
            "(their names begin with nccl), other kernels, and both. bins: as in cuda_gpu_time_util_map.",
    .needs = { { "CUDA kernel data", util_map_kernel_tables } },
    .is_of_gpus = 1,
    .run_as = util_map_make_map,
    .as = &nccl_shape,
};

const struct analysis analysis_ucx_gpu_time_util_map = {
    .name = "ucx_gpu_time_util_map",
    .title = "UCX and GPU Time Utilization Heatmap",
    .usage = MAP_GRID_USAGE,
    .help = "For each rank and process: the share of each span of time in which kernels ran, in which a thread was "
            "in UCX, and in which both was so. bins: as in cuda_gpu_time_util_map.",
    .needs = { { "UCX event data", TABLES("UCP_SUBMIT_EVENTS", "UCP_PROGRESS_EVENTS", "UCP_EVENTS") } },
    .run_as = util_map_make_map,
    .as = &ucx_shape,
};
