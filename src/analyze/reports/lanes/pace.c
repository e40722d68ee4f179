/* cuda_gpu_kern_pace, nvtx_pace and nvtx_gpu_proj_pace. All choose the events of one name and number them in each
 * lane. */
#include "pace.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/engine/cell_text.h"
#include "analyze/engine/report_options.h"
#include "analyze/model/ranges.h"
#include "analyze/registry.h"
#include "analyze/reports/gpu_projection.h"
#include "base/array.h"
#include "base/intern.h"
#include "base/saturating.h"
#include "rank_lanes.h"

/* The time of the events of each name. */
struct pace_time {
    int64_t total_ns, runs;
};

struct pace_names {
    struct intern names;
    struct pace_time *times; /* owned */
    size_t room;
};

static const struct table_column pace_columns[PACE_COLUMNS] = {
    [PACE_RANK] = { "Rank", CELL_INT, UNIT_ID, 0 },
    [PACE_PID] = { "PID", CELL_INT, UNIT_ID, 0 },
    [PACE_ITERATION] = { "Iteration", CELL_INT, UNIT_ID, 0 },
    [PACE_START] = { "Start", CELL_INT, UNIT_TIME, 0 },
    [PACE_END] = { "End", CELL_INT, UNIT_TIME, 0 },
    [PACE_DURATION] = { "Duration", CELL_INT, UNIT_NS, 0 },
    [PACE_DURATION_ACCUM] = { "Duration Accum", CELL_INT, UNIT_NS, 0 },
    [PACE_DELTA] = { "Delta", CELL_INT, UNIT_NS, 0 },
    [PACE_DELTA_ACCUM] = { "Delta Accum", CELL_INT, UNIT_NS, 0 },
    [PACE_NAME] = { "Name", CELL_TEXT, UNIT_NAME, 0 },
};

/* ---- which name -------------------------------------------------------------------------------------------------*/

static int pace_add_time(struct pace_names *all, struct report *report, const struct lane_event *event)
{
    size_t length;
    const char *name = report_string(report, event->name, &length);
    int64_t number = intern_add(&all->names, name, length);

    if (number < 0 || array_reserve_zeroed(&all->times, &all->room, (size_t)number + 1, sizeof *all->times) != 0)
        return ERR_NO_MEMORY;
    struct pace_time *time = &all->times[number];
    time->total_ns = saturating_add(time->total_ns, saturating_duration(event->start_ns, event->end_ns));
    time->runs++;
    return 0;
}

/* Names that come again first, since a pace needs two events, then by time and alphabet. */
static int is_before(const struct pace_names *all, size_t a, size_t b)
{
    const struct pace_time *x = &all->times[a], *y = &all->times[b];

    if ((x->runs > 1) != (y->runs > 1))
        return x->runs > 1;
    if (x->total_ns != y->total_ns)
        return x->total_ns > y->total_ns;
    return strcmp(all->names.strings[a].bytes, all->names.strings[b].bytes) < 0;
}

static int pace_choose_name(struct text *out, struct report *report, const struct lanes *lanes)
{
    struct pace_names all = { 0 };
    size_t best = 0;
    int code = 0;

    for (size_t i = 0; i < lanes->count; i++)
        if ((code = pace_add_time(&all, report, &lanes->events[i])) != 0)
            goto free_names;
    for (size_t i = 1; i < all.names.count; i++)
        best = is_before(&all, i, best) ? i : best;
    if (all.names.count)
        text_add_bytes(out, all.names.strings[best].bytes, all.names.strings[best].length);
free_names:
    intern_free(&all.names);
    free(all.times);
    return code;
}

static int pace_is_named(struct report *report, const struct lane_event *event, const char *name)
{
    return strcmp(report_string(report, event->name, NULL), name) == 0 ||
           strcmp(report_string(report, event->full_name, NULL), name) == 0;
}

/* ---- the table --------------------------------------------------------------------------------------------------*/

struct lane_pace {
    int64_t iteration, duration_accum_ns, delta_accum_ns, last_end_ns;
};

static int pace_add_row(struct table *table, struct report *report, const struct lanes *lanes,
                        const struct lane_event *event, struct lane_pace *pace)
{
    int64_t duration = saturating_duration(event->start_ns, event->end_ns);
    struct table_cell *row = table_add_row(table);

    if (!row)
        return ERR_NO_MEMORY;
    pace->duration_accum_ns = saturating_add(pace->duration_accum_ns, duration);
    lane_set_cells(lanes, event->lane, &row[PACE_RANK], &row[PACE_PID], NULL);
    cell_set_int(&row[PACE_ITERATION], pace->iteration);
    cell_set_int(&row[PACE_START], event->start_ns);
    cell_set_int(&row[PACE_END], event->end_ns);
    cell_set_int(&row[PACE_DURATION], duration);
    cell_set_int(&row[PACE_DURATION_ACCUM], pace->duration_accum_ns);
    if (pace->iteration) {
        int64_t delta = saturating_subtract(event->start_ns, pace->last_end_ns);
        pace->delta_accum_ns = saturating_add(pace->delta_accum_ns, delta);
        cell_set_int(&row[PACE_DELTA], delta);
        cell_set_int(&row[PACE_DELTA_ACCUM], pace->delta_accum_ns);
    }
    pace->iteration++;
    pace->last_end_ns = event->end_ns;
    return cell_set_pooled(table, &row[PACE_NAME], report, event->name);
}

static int pace_fill_table(struct table *table, struct report *report, const struct lanes *lanes, const char *name)
{
    for (size_t l = 0; l < lanes->keys.count; l++) {
        uint32_t lane = lanes->order[l];
        struct lane_pace pace = { 0 };
        for (size_t i = lanes->first[lane]; i < lanes->first[lane + 1]; i++)
            if (pace_is_named(report, &lanes->events[i], name) &&
                pace_add_row(table, report, lanes, &lanes->events[i], &pace) != 0)
                return ERR_NO_MEMORY;
    }
    return 0;
}

static int pace_make_pace(struct report *report, const struct analysis_request *request, struct lanes *lanes, int code,
                          struct table **out, struct error *err)
{
    struct table *table = table_new(pace_columns, PACE_COLUMNS);
    const char *wanted = option_text(request, "name");
    struct text name = { 0 };

    if (code != 0)
        goto done;
    if (wanted)
        text_add(&name, wanted);
    else if ((code = pace_choose_name(&name, report, lanes)) != 0)
        goto done;
    code = table ? pace_fill_table(table, report, lanes, text_string(&name)) : ERR_NO_MEMORY;
done:
    text_free(&name);
    lanes_free(lanes);
    return table_hand_over(table, code, out, err);
}

/* ---- the reports ------------------------------------------------------------------------------------------------*/

static int cuda_gpu_kern_pace(struct report *report, const struct analysis_request *request, struct table **out,
                              struct error *err)
{
    struct lanes lanes = { 0 };
    int code = lanes_read(&lanes, report, request, &lane_kernels, 1, 0, err);

    return pace_make_pace(report, request, &lanes, code, out, err);
}

/* A range at the times given: its own, or those of its work on the GPU. */
static int pace_add_range(struct lanes *lanes, const struct range *range, int64_t start_ns, int64_t end_ns)
{
    struct lane_event event = {
        .start_ns = start_ns,
        .end_ns = end_ns,
        .name = range->name < 0 ? 0 : range->name,
        .full_name = range->name < 0 ? 0 : range->name,
        .lane = lanes_lane(lanes, LANE_NO_RANK, global_process(range->thread), LANE_NO_DEVICE),
    };

    return lanes_add(lanes, &event);
}

static int nvtx_pace(struct report *report, const struct analysis_request *request, struct table **out,
                     struct error *err)
{
    struct lanes lanes = { 0 };
    struct ranges ranges = { 0 };
    struct filter filter = { 0 };
    int code;

    if ((code = filter_open(&filter, report, request, err)) != 0)
        goto done;
    if ((code = lanes_open(&lanes, report, err)) != 0)
        goto done;
    if ((code = ranges_read(&ranges, report, RANGE_PUSHPOP | RANGE_STARTEND | RANGE_CROSSING, &filter, err)) != 0)
        goto done;
    for (size_t i = 0; i < ranges.count; i++)
        if ((code = pace_add_range(&lanes, &ranges.list[i], ranges.list[i].start_ns, ranges.list[i].end_ns)) != 0)
            goto done;
    code = lanes_sort(&lanes);
done:
    filter_close(&filter);
    ranges_free(&ranges);
    return pace_make_pace(report, request, &lanes, code, out, err);
}

static int nvtx_gpu_proj_pace(struct report *report, const struct analysis_request *request, struct table **out,
                              struct error *err)
{
    struct lanes lanes = { 0 };
    struct gpu_projection projection = { 0 };
    int code;

    if ((code = gpu_projection_read(&projection, report, request, NULL, err)) != 0)
        goto done;
    if ((code = lanes_open(&lanes, report, err)) != 0)
        goto done;
    for (size_t i = 0; i < projection.ranges.count; i++)
        if ((code = pace_add_range(&lanes, &projection.ranges.list[i], projection.range_work[i].first_ns,
                                   projection.range_work[i].last_ns)) != 0)
            goto done;
    code = lanes_sort(&lanes);
done:
    gpu_projection_free(&projection);
    return pace_make_pace(report, request, &lanes, code, out, err);
}

static const char *const pace_nvtx_tables[] = { "NVTX_EVENTS", NULL };
#define PACE_USAGE "[:name=<name>]"

const struct analysis analysis_cuda_gpu_kern_pace = {
    .name = "cuda_gpu_kern_pace",
    .title = "CUDA GPU Kernel Pacing",
    .usage = PACE_USAGE,
    .help = "Progress of the ranks by a kernel that they run again and again: the start and the duration of its n-th "
            "run in each rank and process, and the time since the end of the one before (Delta). name: the kernel, by "
            "its short or whole name; by default the one with the most time among those that run more than once.",
    .needs = { { "CUDA kernel data", TABLES("CUPTI_ACTIVITY_KIND_KERNEL") } },
    .is_of_gpus = 1,
    .overlap = "accumulated times contain each other",
    .run = cuda_gpu_kern_pace,
};

const struct analysis analysis_nvtx_pace = {
    .name = "nvtx_pace",
    .title = "NVTX Pacing",
    .usage = PACE_USAGE,
    .help = "The same as cuda_gpu_kern_pace for NVTX ranges. name: the text of the range; by default as in "
            "cuda_gpu_kern_pace.",
    .needs = { { "NV Tools Extension (NVTX) data", pace_nvtx_tables } },
    .overlap = "accumulated times contain each other",
    .run = nvtx_pace,
};

const struct analysis analysis_nvtx_gpu_proj_pace = {
    .name = "nvtx_gpu_proj_pace",
    .title = "NVTX GPU Projection Pacing",
    .usage = PACE_USAGE,
    .help = "The same as nvtx_pace for ranges projected on the GPU, as in nvtx_gpu_proj_trace.",
    .needs = { { "NV Tools Extension (NVTX) data", pace_nvtx_tables },
               { "CUDA trace data",
                 TABLES("CUPTI_ACTIVITY_KIND_KERNEL", "CUPTI_ACTIVITY_KIND_MEMCPY", "CUPTI_ACTIVITY_KIND_MEMSET") } },
    .overlap = "accumulated times contain each other",
    .run = nvtx_gpu_proj_pace,
};
