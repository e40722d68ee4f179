/* kernel_speed_of_light: how near each kernel comes to the limits of the GPU, and what limits its occupancy. */
#include "analyze/registry.h"
#include "counters_report.h"

enum {
    LAUNCH,
    DURATION,
    SM,
    MEMORY,
    L1,
    L2,
    DRAM,
    ACHIEVED,
    THEORETICAL,
    LIMIT,
    REGISTERS,
    WAVES,
    MISSING,
    KERNEL,
    COLUMNS
};
static const struct table_column speed_of_light_columns[COLUMNS] = {
    [LAUNCH] = { "ID", CELL_INT, UNIT_ID, 0 },
    [DURATION] = { "Duration", CELL_INT, UNIT_NS, 0 },
    [SM] = { "SM", CELL_REAL, UNIT_PERCENT, 1 },
    [MEMORY] = { "Memory", CELL_REAL, UNIT_PERCENT, 1 },
    [L1] = { "L1", CELL_REAL, UNIT_PERCENT, 1 },
    [L2] = { "L2", CELL_REAL, UNIT_PERCENT, 1 },
    [DRAM] = { "DRAM", CELL_REAL, UNIT_PERCENT, 1 },
    [ACHIEVED] = { "Occupancy", CELL_REAL, UNIT_PERCENT, 1 },
    [THEORETICAL] = { "Theoretical", CELL_REAL, UNIT_PERCENT, 1 },
    [LIMIT] = { "Limited By", CELL_TEXT, UNIT_NONE, 0 },
    [REGISTERS] = { "Registers", CELL_INT, UNIT_NONE, 0 },
    [WAVES] = { "Waves", CELL_REAL, UNIT_NONE, 2 },
    [MISSING] = { "Not Collected", CELL_TEXT, UNIT_NONE, 0 },
    [KERNEL] = { "Name", CELL_TEXT, UNIT_NAME, 0 },
};

/* The metric of each column; the second is that of older versions of ncu, or of other chips. */
static const struct {
    int column;
    const char *metrics[3];
} figures[] = {
    { DURATION, { "gpu__time_duration.sum" } },
    { SM, { "sm__throughput.avg.pct_of_peak_sustained_elapsed" } },
    { MEMORY, { "gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed" } },
    { L1, { "l1tex__throughput.avg.pct_of_peak_sustained_active" } },
    { L2, { "lts__throughput.avg.pct_of_peak_sustained_elapsed" } },
    { DRAM,
      { "gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed",
        "dram__throughput.avg.pct_of_peak_sustained_elapsed" } },
    { ACHIEVED, { "sm__warps_active.avg.pct_of_peak_sustained_active" } },
    { THEORETICAL, { "sm__maximum_warps_per_active_cycle_pct" } },
    { REGISTERS, { "launch__registers_per_thread" } },
    { WAVES, { "launch__waves_per_multiprocessor" } },
};

/* How many blocks each resource lets run at once on a multiprocessor. */
static const struct {
    const char *name, *metric;
} limits[] = {
    { "blocks", "launch__occupancy_limit_blocks" },
    { "registers", "launch__occupancy_limit_registers" },
    { "shared memory", "launch__occupancy_limit_shared_mem" },
    { "warps", "launch__occupancy_limit_warps" },
    { "barriers", "launch__occupancy_limit_barriers" },
};
#define LIMITS COUNT_OF(limits)

/* The resource that lets the fewest blocks run; all of them where several do. */
static int set_limit(struct table *table, struct table_cell *row, const struct kernel_counters *counters,
                     const struct counted_kernel *kernel, struct text *missing)
{
    double blocks[LIMITS], least = NAN;
    struct text names = { 0 };

    for (size_t i = 0; i < LIMITS; i++) {
        blocks[i] = kernel_counters_number(counters, kernel, limits[i].metric);
        least = fmin(least, blocks[i]);
    }
    for (size_t i = 0; i < LIMITS; i++)
        if (blocks[i] <= least)
            counters_add_name(&names, limits[i].name);
    if (isnan(least))
        counters_add_name(missing, "launch__occupancy_limit_*");
    return counters_set_names(table, &row[LIMIT], &names);
}

static int speed_of_light_add_kernel(struct table *table, const struct kernel_counters *counters,
                                     const struct counted_kernel *kernel, void *context)
{
    struct table_cell *row = table_add_row(table);
    struct text missing = { 0 };
    int code;

    if (!row)
        return ERR_NO_MEMORY;
    for (size_t i = 0; i < COUNT_OF(figures); i++) {
        double value = kernel_counters_first(counters, kernel, figures[i].metrics);
        if (isnan(value))
            counters_add_name(&missing, figures[i].metrics[0]);
        else if (speed_of_light_columns[figures[i].column].kind == CELL_INT)
            cell_set_rounded(&row[figures[i].column], value);
        else
            cell_set_real(&row[figures[i].column], value);
    }
    if ((code = set_limit(table, row, counters, kernel, &missing)) != 0)
        goto free_missing;
    code = counters_set_kernel(table, &row[LAUNCH], &row[KERNEL], counters, kernel);
free_missing:
    return counters_set_names(table, &row[MISSING], &missing) != 0 ? ERR_NO_MEMORY : code;
}

static int speed_of_light_run(struct report *report, const struct analysis_request *request, struct table **out,
                              struct error *err)
{
    return counters_report(report, speed_of_light_columns, COLUMNS, speed_of_light_add_kernel, NULL, out, err);
}

const struct analysis analysis_kernel_speed_of_light = {
    .name = "kernel_speed_of_light",
    .title = "Kernel Speed of Light",
    .help =
        "How near each counted kernel comes to the limits of the GPU: throughput of the multiprocessors, of memory, "
        "of the L1 and L2 caches and of DRAM, as a share of the greatest; warps that ran (Occupancy) and that could "
        "run (Theoretical) as a share of the most, and the resource that limits them. Not Collected names the "
        "metrics that empty cells need.",
    .needs = { KERNEL_COUNTER_NEED },
    .by_default = 70,
    .default_where = "TACHO_KERNEL_COUNTERS",
    .run = speed_of_light_run,
};
