/* openmp_region_sum: parallel regions of OpenMP by their place in the source, with the time that a better balance would
 * save (openmp_regions.h). */
#include <stdlib.h>
#include <string.h>

#include "analyze/engine/cell_text.h"
#include "analyze/model/openmp_regions.h"
#include "analyze/registry.h"
#include "base/array.h"
#include "base/saturating.h"

/* A place in the source with all instances of its region. */
struct region_sum_place {
    int64_t instances, total_ns, threads, most_ns, work_ns, wait_ns;
    double mean_ns; /* sum of the means of the instances */
};

/* The sums are to be freed. */
static struct region_sum_place *sum_places(const struct openmp_regions *regions)
{
    struct region_sum_place *sums = calloc(regions->places.count + 1, sizeof *sums);

    for (size_t i = 0; sums && i < regions->numbers.count; i++) {
        const struct openmp_region *region = &regions->list[i];
        struct region_sum_place *sum = &sums[region->place];
        sum->instances++;
        sum->total_ns = saturating_add(sum->total_ns, saturating_duration(region->start_ns, region->end_ns));
        sum->threads = region->parts > sum->threads ? region->parts : sum->threads;
        sum->most_ns = saturating_add(sum->most_ns, region->most_ns);
        sum->work_ns = saturating_add(sum->work_ns, region->work_ns);
        sum->wait_ns = saturating_add(sum->wait_ns, region->wait_ns);
        sum->mean_ns += region->parts ? (double)region->work_ns / region->parts : 0;
    }
    return sums;
}

/* ---- The table ------------------------------------------------------------------------------------------------- */

enum {
    CELL_GAIN,
    CELL_IMBALANCE,
    CELL_WAITING,
    CELL_TOTAL,
    CELL_INSTANCES,
    CELL_AVG,
    CELL_THREADS,
    CELL_FUNCTION,
    CELL_PLACE,
    CELLS
};

static int region_sum_set_texts(const struct openmp_regions *regions, uint32_t place, struct table *table,
                                struct table_cell *cells)
{
    struct text line = { 0 };
    int failed = cell_set_string(table, &cells[CELL_FUNCTION], openmp_place_function(regions, place)) != 0;

    openmp_place_line(&line, regions, place);
    failed |= line.length && cell_set_built(table, &cells[CELL_PLACE], &line) != 0;
    text_free(&line);
    return failed ? ERR_NO_MEMORY : 0;
}

static int region_sum_fill_table(const struct openmp_regions *regions, const struct region_sum_place *sums,
                                 struct table *table)
{
    for (uint32_t i = 0; i < regions->places.count; i++) {
        const struct region_sum_place *sum = &sums[i];
        int64_t gain_ns = sum->most_ns - (int64_t)sum->mean_ns, spent_ns = saturating_add(sum->work_ns, sum->wait_ns);
        if (!sum->instances)
            continue;
        struct table_cell *cells = table_add_row(table);
        if (!cells)
            return ERR_NO_MEMORY;
        cell_set_int(&cells[CELL_GAIN], gain_ns > 0 ? gain_ns : 0);
        if (sum->mean_ns > 0)
            cell_set_real(&cells[CELL_IMBALANCE], (double)sum->most_ns / sum->mean_ns);
        if (spent_ns > 0)
            cell_set_real(&cells[CELL_WAITING], 100.0 * (double)sum->wait_ns / (double)spent_ns);
        cell_set_int(&cells[CELL_TOTAL], sum->total_ns);
        cell_set_int(&cells[CELL_INSTANCES], sum->instances);
        cell_set_real(&cells[CELL_AVG], (double)sum->total_ns / (double)sum->instances);
        cell_set_int(&cells[CELL_THREADS], sum->threads);
        if (region_sum_set_texts(regions, i, table, cells) != 0)
            return ERR_NO_MEMORY;
    }
    table_sort_by(table, BY(DOWN(CELL_GAIN), DOWN(CELL_TOTAL)));
    return 0;
}

static int openmp_region_sum(struct report *report, const struct analysis_request *request, struct table **out,
                             struct error *err)
{
    static const struct table_column columns[CELLS] = {
        [CELL_GAIN] = { "Imbalance Time", CELL_INT, UNIT_NS, 0 },
        [CELL_IMBALANCE] = { "Max/Mean", CELL_REAL, UNIT_NONE, 2 },
        [CELL_WAITING] = { "Waiting", CELL_REAL, UNIT_PERCENT, 1 },
        [CELL_TOTAL] = { "Total Time", CELL_INT, UNIT_NS, 0 },
        [CELL_INSTANCES] = { "Instances", CELL_INT, UNIT_NONE, 0 },
        [CELL_AVG] = { "Avg", CELL_REAL, UNIT_NS, 1 },
        [CELL_THREADS] = { "Threads", CELL_INT, UNIT_NONE, 0 },
        [CELL_FUNCTION] = { "Function", CELL_TEXT, UNIT_NAME, 0 },
        [CELL_PLACE] = { "Place", CELL_TEXT, UNIT_NONE, 0 },
    };
    struct table *table = table_new(columns, CELLS);
    struct region_sum_place *sums = NULL;
    struct openmp_regions regions = { 0 };
    struct filter filter;
    int code = table ? filter_open(&filter, report, request, err) : ERR_NO_MEMORY;

    if (code != 0)
        goto no_filter;
    if ((code = openmp_regions_read(&regions, report, &filter, err)) != 0)
        goto close_filter;
    if ((code = openmp_regions_measure(&regions, NULL, NULL)) != 0)
        goto close_filter;
    sums = sum_places(&regions);
    code = sums ? region_sum_fill_table(&regions, sums, table) : ERR_NO_MEMORY;
close_filter:
    filter_close(&filter);
    openmp_regions_free(&regions);
    free(sums);
no_filter:
    return table_hand_over(table, code, out, err);
}

const struct analysis analysis_openmp_region_sum = {
    .name = "openmp_region_sum",
    .title = "OpenMP Region Summary",
    .help = "Parallel regions of OpenMP by function and line: the time that a better balance would save (the busiest "
            "thread's work less the mean, over all instances), the ratio of these two, and the share of their time "
            "that threads wait. Regions inside others count in both.",
    .needs = { { "OpenMP event data", TABLES("OPENMP_EVENT_KIND_PARALLEL") } },
    .overlap = "regions contain each other",
    .run = openmp_region_sum,
};
