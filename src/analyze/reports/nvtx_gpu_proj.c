/* nvtx_gpu_proj_trace, nvtx_gpu_proj_sum and nccl_gpu_proj_sum: NVTX ranges projected onto the GPU, from the start of
 * the first to the end of the last piece of work that was launched inside them. */
#include <stdlib.h>
#include <string.h>

#include "analyze/engine/cell_text.h"
#include "analyze/engine/order.h"
#include "analyze/registry.h"
#include "gpu_projection.h"

/* Collects the work of each call. If several calls share a correlation id, the first one gets the work, so that nothing
 * counts twice. */
static int nvtx_gpu_proj_add_ops(struct gpu_projection *projection, struct launch_run_work *by_call,
                                 const struct filter *filter, struct error *err)
{
    for (int kind = 0; kind < GPU_KINDS; kind++) {
        struct gpu_ops ops;
        int code = gpu_read(&ops, projection->report, (enum gpu_kind)kind, NULL, err);
        if (code != 0)
            return code;
        for (size_t row = 0; row < ops.count; row++) {
            if (!gpu_counts(&ops, row, filter))
                continue;
            uint32_t call = calls_find(&projection->calls, ops.process[row], ops.correlation[row]);
            if (call != NO_CALL)
                by_call[call] = launch_run_work_joined(by_call[call],
                                                       (struct launch_run_work){ ops.start[row], ops.end[row], 1 });
        }
        gpu_free(&ops);
    }
    return 0;
}

static int sort_launches(struct gpu_projection *projection, const struct launch_run_work *by_call)
{
    const struct calls *calls = &projection->calls;
    size_t count = 0;

    projection->launches = malloc((calls->count + 1) * sizeof *projection->launches);
    if (!projection->launches)
        return ERR_NO_MEMORY;
    for (size_t i = 0; i < calls->count; i++)
        if (by_call[i].ops)
            projection->launches[count++] = (uint32_t)i;
    projection->launch_count = count;
    return order_by_thread(projection->launches, count, calls->thread, calls->start) != 0 ? ERR_NO_MEMORY : 0;
}

/* Opens the launches of a thread. The search starts at *next, which moves to the first launch of a later thread. */
static int nvtx_gpu_proj_open_run(struct launch_run *run, const struct gpu_projection *projection,
                                  const struct launch_run_work *by_call, int64_t thread, size_t *next)
{
    const struct calls *calls = &projection->calls;
    const uint32_t *launches = projection->launches;

    while (*next < projection->launch_count && calls->thread[launches[*next]] < thread)
        ++*next;
    size_t first = *next;
    while (*next < projection->launch_count && calls->thread[launches[*next]] == thread)
        ++*next;
    if (launch_run_open(run, *next - first) != 0)
        return ERR_NO_MEMORY;
    for (size_t i = 0; i < run->count; i++)
        launch_run_set(run, i, calls->start[launches[first + i]], calls->end[launches[first + i]],
                       by_call[launches[first + i]]);
    launch_run_ready(run);
    return 0;
}

/* Finds the work of each range and drops the ranges without any. */
static int nvtx_gpu_proj_project(struct gpu_projection *projection, const struct launch_run_work *by_call)
{
    struct ranges *ranges = &projection->ranges;
    struct launch_run run = { 0 };
    size_t next = 0, from = 0, kept = 0;
    int code = 0;

    projection->range_work = malloc((ranges->count + 1) * sizeof *projection->range_work);
    if (!projection->range_work)
        return ERR_NO_MEMORY;
    for (size_t i = 0; i < ranges->count; i++) {
        struct range range = ranges->list[i];
        if (i == 0 || range.thread != ranges->list[i - 1].thread) {
            launch_run_close(&run);
            if ((code = nvtx_gpu_proj_open_run(&run, projection, by_call, range.thread, &next)) != 0)
                goto close_run;
            from = 0;
        }
        struct launch_run_work work = launch_run_inside(&run, range.start_ns, range.end_ns, &from);
        if (!work.ops)
            continue;
        projection->range_work[kept] = work;
        ranges->list[kept++] = range;
    }
    ranges->count = kept;
    ranges_nest(ranges);
close_run:
    launch_run_close(&run);
    return code;
}

/* Drops the ranges of other domains. */
static void keep_domain(struct ranges *ranges, struct report *report, const char *domain)
{
    size_t kept = 0;

    for (size_t i = 0; i < ranges->count; i++)
        if (ranges->list[i].domain != NVTX_NO_NAME &&
            strcmp(report_string(report, ranges->list[i].domain, NULL), domain) == 0)
            ranges->list[kept++] = ranges->list[i];
    ranges->count = kept;
}

int gpu_projection_read(struct gpu_projection *projection, struct report *report,
                        const struct analysis_request *request, const char *domain, struct error *err)
{
    struct filter filter = { 0 };
    struct launch_run_work *by_call = NULL;
    int code;

    *projection = (struct gpu_projection){ .report = report };
    if ((code = filter_open(&filter, report, request, err)) != 0)
        goto done;
    if ((code = ranges_read(&projection->ranges, report, RANGE_PUSHPOP | RANGE_STARTEND, &filter, err)) != 0)
        goto done;
    if (domain)
        keep_domain(&projection->ranges, report, domain);
    if ((code = calls_read(&projection->calls, report, err)) != 0)
        goto done;
    if (!(by_call = malloc((projection->calls.count + 1) * sizeof *by_call)) &&
        (code = error_short_memory(err, "for the calls")) != 0)
        goto done;
    for (size_t i = 0; i < projection->calls.count; i++)
        by_call[i] = LAUNCH_RUN_NO_WORK;
    if ((code = nvtx_gpu_proj_add_ops(projection, by_call, &filter, err)) != 0)
        goto done;
    if (sort_launches(projection, by_call) != 0 || nvtx_gpu_proj_project(projection, by_call) != 0)
        code = error_short_memory(err, "to project the ranges");
done:
    free(by_call);
    filter_close(&filter);
    return code;
}

void gpu_projection_free(struct gpu_projection *projection)
{
    calls_free(&projection->calls);
    ranges_free(&projection->ranges);
    free(projection->range_work);
    free(projection->launches);
    nvtx_fold_close(&projection->fold);
}

static int64_t projected_ns(const struct gpu_projection *projection, size_t range)
{
    return saturating_duration(projection->range_work[range].first_ns, projection->range_work[range].last_ns);
}

enum {
    NAME,
    AT,
    TIME,
    ORIGINAL_AT,
    ORIGINAL_TIME,
    STYLE,
    PID,
    TID,
    OPS,
    LEVEL,
    CHILDREN,
    ID,
    PARENT,
    STACK,
    TRACE_COLUMNS
};
static const struct table_column nvtx_gpu_proj_trace_columns[TRACE_COLUMNS] = {
    { "Name", CELL_TEXT, UNIT_NAME, 0 },
    { "Projected Start", CELL_INT, UNIT_TIME, 0 },
    { "Projected Duration", CELL_INT, UNIT_NS, 0 },
    { "Orig Start", CELL_INT, UNIT_TIME, 0 },
    { "Orig Duration", CELL_INT, UNIT_NS, 0 },
    { "Style", CELL_TEXT, UNIT_NONE, 0 },
    { "PID", CELL_INT, UNIT_ID, 0 },
    { "TID", CELL_INT, UNIT_ID, 0 },
    { "NumGPUOps", CELL_INT, UNIT_NONE, 0 },
    { "Lvl", CELL_INT, UNIT_ID, 0 },
    { "NumChild", CELL_INT, UNIT_NONE, 0 },
    { "RangeId", CELL_INT, UNIT_ID, 0 },
    { "ParentId", CELL_INT, UNIT_ID, 0 },
    { "RangeStack", CELL_TEXT, UNIT_NONE, 0 },
};

static int add_trace_row(const struct gpu_projection *projection, struct table *table, struct text *text, size_t i)
{
    const struct range *range = &projection->ranges.list[i];
    struct table_cell *row = table_add_row(table);

    if (!row)
        return ERR_NO_MEMORY;
    range_label(text, projection->report, range);
    if (cell_set_built(table, &row[NAME], text) != 0)
        return ERR_NO_MEMORY;
    cell_set_int(&row[AT], projection->range_work[i].first_ns);
    cell_set_int(&row[TIME], projected_ns(projection, i));
    cell_set_int(&row[ORIGINAL_AT], range->start_ns);
    cell_set_int(&row[ORIGINAL_TIME], saturating_duration(range->start_ns, range->end_ns));
    cell_set_int(&row[PID], global_pid_number(range->thread));
    cell_set_int(&row[TID], global_tid_number(range->thread));
    cell_set_int(&row[OPS], (int64_t)projection->range_work[i].ops);
    cell_set_int(&row[LEVEL], range->level);
    cell_set_int(&row[CHILDREN], range->children);
    cell_set_int(&row[ID], (int64_t)range->row + 1);
    if (range->parent != NO_RANGE)
        cell_set_int(&row[PARENT], (int64_t)projection->ranges.list[range->parent].row + 1);
    range_stack(text, &projection->ranges, range);
    if (cell_set_string(table, &row[STYLE], range_style_name(range->style)) != 0)
        return ERR_NO_MEMORY;
    return cell_set_built(table, &row[STACK], text);
}

/* By projected start, then by original start. */
static int sort_ranges(const struct gpu_projection *projection, uint32_t *order, int64_t *times)
{
    size_t count = projection->ranges.count;

    for (size_t i = 0; i < count; i++) {
        order[i] = (uint32_t)i;
        times[i] = projection->ranges.list[i].start_ns;
    }
    if (order_by_time(order, count, times) != 0)
        return ERR_NO_MEMORY;
    for (size_t i = 0; i < count; i++)
        times[i] = projection->range_work[i].first_ns;
    return order_by_time(order, count, times);
}

static int nvtx_gpu_proj_fill_trace(struct gpu_projection *projection, struct table *table)
{
    size_t count = projection->ranges.count;
    uint32_t *order = malloc((count + 1) * sizeof *order);
    int64_t *times = calloc(count + 1, sizeof *times);
    struct text text = { 0 };
    int code = ERR_NO_MEMORY;

    if (!order || !times)
        goto done;
    if ((code = sort_ranges(projection, order, times)) != 0)
        goto done;
    for (size_t i = 0; i < count; i++)
        if ((code = add_trace_row(projection, table, &text, order[i])) != 0)
            goto done;
done:
    text_free(&text);
    free(order);
    free(times);
    return code;
}

enum {
    SUM_RANGE,
    SUM_STYLE,
    SUM_PROJECTED,
    SUM_ORIGINAL,
    SUM_COUNT,
    SUM_MEAN,
    SUM_MEDIAN,
    SUM_LEAST,
    SUM_GREATEST,
    SUM_DEVIATION,
    SUM_OPS,
    SUM_MEAN_OPS,
    SUM_MEAN_LEVEL,
    SUM_MEAN_CHILDREN,
    SUM_COLUMNS
};
static const struct table_column nvtx_gpu_proj_sum_columns[SUM_COLUMNS] = {
    { "Range", CELL_TEXT, UNIT_NAME, 0 },          { "Style", CELL_TEXT, UNIT_NONE, 0 },
    { "Total Proj Time", CELL_INT, UNIT_NS, 0 },   { "Total Range Time", CELL_INT, UNIT_NS, 0 },
    { "Range Instances", CELL_INT, UNIT_NONE, 0 }, { "Proj Avg", CELL_REAL, UNIT_NS, 1 },
    { "Proj Med", CELL_REAL, UNIT_NS, 1 },         { "Proj Min", CELL_INT, UNIT_NS, 0 },
    { "Proj Max", CELL_INT, UNIT_NS, 0 },          { "Proj StdDev", CELL_REAL, UNIT_NS, 1 },
    { "Total GPU Ops", CELL_INT, UNIT_NONE, 0 },   { "Avg GPU Ops", CELL_REAL, UNIT_NONE, 1 },
    { "Avg Range Lvl", CELL_REAL, UNIT_NONE, 1 },  { "Avg Num Child", CELL_REAL, UNIT_NONE, 1 },
};

/* The sums of a group besides the projected times. */
struct range_sums {
    int64_t original_ns, ops, levels, children;
};

struct range_summary {
    struct keys keys;             /* domain, name and style */
    uint32_t *groups;             /* owned; by range */
    int64_t *values;              /* owned; projected times */
    struct range_sums *sums;      /* owned */
    struct keys_figures *figures; /* owned */
};

static int nvtx_gpu_proj_group_ranges(struct gpu_projection *projection, struct range_summary *summary)
{
    size_t count = projection->ranges.count;

    summary->groups = malloc((count + 1) * sizeof *summary->groups);
    summary->values = malloc((count + 1) * sizeof *summary->values);
    if (!summary->groups || !summary->values)
        return ERR_NO_MEMORY;
    for (size_t i = 0; i < count; i++) {
        const struct range *range = &projection->ranges.list[i];
        int64_t name = nvtx_fold_name(&projection->fold, range->name);
        summary->groups[i] = keys_add(&summary->keys, (int64_t[]){ range->domain, name, range->style });
        summary->values[i] = projected_ns(projection, i);
        if (summary->groups[i] == NO_KEY || projection->fold.failed)
            return ERR_NO_MEMORY;
    }
    summary->sums = calloc(summary->keys.count + 1, sizeof *summary->sums);
    summary->figures = malloc((summary->keys.count + 1) * sizeof *summary->figures);
    if (!summary->sums || !summary->figures)
        return ERR_NO_MEMORY;
    for (size_t i = 0; i < count; i++) {
        const struct range *range = &projection->ranges.list[i];
        struct range_sums *sums = &summary->sums[summary->groups[i]];
        sums->original_ns = saturating_add(sums->original_ns, saturating_duration(range->start_ns, range->end_ns));
        sums->ops += (int64_t)projection->range_work[i].ops;
        sums->levels += range->level;
        sums->children += range->children;
    }
    return keys_summarize(summary->figures, summary->keys.count, summary->groups, summary->values, count);
}

static int add_sum_row(const struct gpu_projection *projection, const struct range_summary *summary,
                       struct table *table, struct text *text, uint32_t group)
{
    const int64_t *key = keys_get(&summary->keys, group);
    const struct keys_figures *figures = &summary->figures[group];
    const struct range_sums *sums = &summary->sums[group];
    struct table_cell *row = table_add_row(table);
    double count = (double)figures->figures.count;

    if (!row)
        return ERR_NO_MEMORY;
    nvtx_fold_label(text, &projection->fold, key[0], key[1]);
    cell_set_int(&row[SUM_PROJECTED], (int64_t)figures->figures.total);
    cell_set_int(&row[SUM_ORIGINAL], sums->original_ns);
    cell_set_int(&row[SUM_COUNT], (int64_t)figures->figures.count);
    cell_set_real(&row[SUM_MEAN], statistics_mean(&figures->figures));
    cell_set_real(&row[SUM_MEDIAN], figures->median);
    cell_set_int(&row[SUM_LEAST], figures->figures.min);
    cell_set_int(&row[SUM_GREATEST], figures->figures.max);
    cell_set_real(&row[SUM_DEVIATION], statistics_deviation(&figures->figures));
    cell_set_int(&row[SUM_OPS], sums->ops);
    cell_set_real(&row[SUM_MEAN_OPS], (double)sums->ops / count);
    cell_set_real(&row[SUM_MEAN_LEVEL], (double)sums->levels / count);
    cell_set_real(&row[SUM_MEAN_CHILDREN], (double)sums->children / count);
    if (cell_set_string(table, &row[SUM_STYLE], range_style_name((uint32_t)key[2])) != 0)
        return ERR_NO_MEMORY;
    return cell_set_built(table, &row[SUM_RANGE], text);
}

static int fill_sum(struct gpu_projection *projection, struct table *table)
{
    struct range_summary summary = { .keys.width = 3 };
    struct text text = { 0 };
    int code = nvtx_gpu_proj_group_ranges(projection, &summary);

    if (code != 0)
        goto done;
    for (uint32_t group = 0; group < summary.keys.count; group++)
        if ((code = add_sum_row(projection, &summary, table, &text, group)) != 0)
            goto done;
    table_sort_by(table, BY(DOWN(SUM_PROJECTED), SUM_RANGE, SUM_STYLE));
done:
    text_free(&text);
    keys_free(&summary.keys);
    free(summary.groups);
    free(summary.values);
    free(summary.sums);
    free(summary.figures);
    return code;
}

struct projection_choice {
    const struct table_column *columns;
    size_t column_count;
    int (*fill)(struct gpu_projection *projection, struct table *table);
    const char *domain; /* of the ranges; NULL: all */
};

static int nvtx_gpu_proj_run(struct report *report, const struct analysis_request *request, const void *as,
                             struct table **out, struct error *err)
{
    const struct projection_choice *choice = as;
    struct table *table = table_new(choice->columns, choice->column_count);
    struct gpu_projection projection;
    int code = gpu_projection_read(&projection, report, request, choice->domain, err);

    if (code != 0)
        goto done;
    if ((code = nvtx_fold_open(&projection.fold, report, request, err)) != 0)
        goto done;
    code = table ? choice->fill(&projection, table) : ERR_NO_MEMORY;
done:
    gpu_projection_free(&projection);
    return table_hand_over(table, code, out, err);
}

#define NEEDS {{ "NV Tools Extension (NVTX) data", TABLES("NVTX_EVENTS") }, { "CUDA trace data", gpu_tables }}

const struct analysis analysis_nvtx_gpu_proj_trace = {
    .name = "nvtx_gpu_proj_trace",
    .title = "NVTX GPU Projection Trace",
    .help = "NVTX ranges projected on the GPU: from the start of the first to the end of the last kernel, copy or fill "
            "that the thread of the range launched inside it. Levels and children refer to the ranges shown.",
    .needs = NEEDS,
    .overlap = "ranges contain each other",
    .run_as = nvtx_gpu_proj_run,
    .as = &(const struct projection_choice){ nvtx_gpu_proj_trace_columns, TRACE_COLUMNS, nvtx_gpu_proj_fill_trace,
                                             NULL },
};

const struct analysis analysis_nvtx_gpu_proj_sum = {
    .name = "nvtx_gpu_proj_sum",
    .title = "NVTX GPU Projection Summary",
    .usage = NVTX_FOLD_USAGE,
    .help = "The ranges of nvtx_gpu_proj_trace by name, with their GPU time and CPU time. fold: as in nvtx_sum.",
    .needs = NEEDS,
    .overlap = "ranges contain each other",
    .for_people = NVTX_FOLD_FOR_PEOPLE,
    .run_as = nvtx_gpu_proj_run,
    .as = &(const struct projection_choice){ nvtx_gpu_proj_sum_columns, SUM_COLUMNS, fill_sum, NULL },
};

const struct analysis analysis_nccl_gpu_proj_sum = {
    .name = "nccl_gpu_proj_sum",
    .title = "NCCL GPU Projection Summary",
    .help = "nvtx_gpu_proj_sum of the NVTX ranges that NCCL makes of its calls (domain NCCL).",
    .needs = NEEDS,
    .overlap = "ranges contain each other",
    .run_as = nvtx_gpu_proj_run,
    .as = &(const struct projection_choice){ nvtx_gpu_proj_sum_columns, SUM_COLUMNS, fill_sum, "NCCL" },
};
