/* NVTX ranges and annotations of PyTorch projected onto streams: a projection reaches from the start of the first to
 * the end of the last work on the stream that the thread of the range launched inside the range.
 *
 * Work is grouped by launching thread and stream; each group is a run of launches (analyze/model/launch_run.h).
 * analyze/reports/nvtx_gpu_proj.c does the same with one run for each thread, for all streams together. */
#include <stdlib.h>
#include <string.h>

#include "analyze/engine/order.h"
#include "analyze/model/launch_run.h"
#include "analyze/model/launches.h"
#include "base/array.h"
#include "derived.h"

enum { OF_NVTX, OF_TORCH, KINDS };
static const struct view_source projected_sources[KINDS] = {
    [OF_NVTX] = { .table = "NVTX_EVENTS",
                  .start = "start",
                  .type = ROW_GPU_NVTX,
                  .work = WORK_RANGE,
                  .rename = view_operator_name },
    [OF_TORCH] = { .table = "TACHO_TORCH_OP", .start = "start", .type = ROW_GPU_TORCH, .work = WORK_RANGE },
};
static const struct view_family projected = { projected_sources, KINDS };

enum { THREAD, DEVICE, PROCESS, CONTEXT, STREAM, RUN_PARTS };

struct derived_nvtx_launched {
    int64_t call_start_ns, call_end_ns, start_ns, end_ns;
    uint32_t run;
};

/* The work of one thread on one stream. */
struct derived_nvtx_run {
    uint32_t *order; /* indices of its work in the projection's list */
    size_t count;
    int code;        /* 0, or the error of project_run() */
};

struct projection {
    struct view *view;
    struct calls calls;
    struct ranges ranges[KINDS];
    struct keys run_keys;
    struct derived_nvtx_launched *work; /* owned; as it is found */
    size_t work_count, work_room;
    uint32_t *order;                    /* owned; the work by run */
    int64_t *call_starts;               /* owned; by work */
    struct derived_nvtx_run *runs;      /* owned; by key */
    struct gather gather;
    uint32_t no_name;
};

static const char *const work_tables[] = { "CUPTI_ACTIVITY_KIND_KERNEL", "CUPTI_ACTIVITY_KIND_MEMCPY",
                                           "CUPTI_ACTIVITY_KIND_MEMSET", "CUPTI_ACTIVITY_KIND_GRAPH_TRACE" };

/* ---- work and the calls that launched it ----------------------------------------------------------------------- */

enum { SLICE_ROWS = 1 << 18 };

/* Some rows of a table of work, for one thread. */
struct slice {
    struct keys run_keys; /* numbers of its own, until all slices are done */
    int code;
};

struct slices {
    struct projection *projection;
    const struct gpu_ops *ops;
    struct derived_nvtx_launched *work; /* the work of the first row */
    struct slice *list;                 /* owned */
    size_t count;
};

static size_t slice_end(const struct gpu_ops *ops, size_t number)
{
    size_t end = (number + 1) * SLICE_ROWS;

    return end < ops->count ? end : ops->count;
}

static void take_slice(void *argument, int worker, size_t number)
{
    struct slices *slices = argument;
    struct slice *slice = &slices->list[number];
    const struct gpu_ops *ops = slices->ops;
    const struct calls *calls = &slices->projection->calls;
    size_t from = number * SLICE_ROWS, to = slice_end(ops, number);
    uint32_t run = NO_KEY;

    slice->run_keys.width = RUN_PARTS;
    for (size_t row = from; row < to; row++) {
        uint32_t call = calls_find(calls, ops->process[row], ops->correlation[row]);
        if (call == NO_CALL) {
            slices->work[row].run = NO_KEY;
            continue;
        }
        int64_t key[RUN_PARTS] = { calls->thread[call], ops->device[row], ops->process[row], gpu_extra(ops, 0, row),
                                   ops->stream[row] };
        if (run == NO_KEY || memcmp(keys_get(&slice->run_keys, run), key, sizeof key) != 0)
            run = keys_add(&slice->run_keys, key);
        if (run == NO_KEY) {
            slice->code = ERR_NO_MEMORY;
            return;
        }
        slices->work[row] = (struct derived_nvtx_launched){ calls->start[call], calls->end[call], ops->start[row],
                                                            ops->end[row], run };
    }
}

/* The numbers that the runs of a slice have among those of all; NULL when memory is short. The caller frees them. */
static uint32_t *number_runs(struct projection *projection, const struct slice *slice)
{
    uint32_t *runs = slice->code != 0 ? NULL : malloc((slice->run_keys.count + 1) * sizeof *runs);

    for (uint32_t i = 0; runs && i < slice->run_keys.count; i++)
        if ((runs[i] = keys_add(&projection->run_keys, keys_get(&slice->run_keys, i))) == NO_KEY) {
            free(runs);
            return NULL;
        }
    return runs;
}

/* Moves the work of a slice up to the work before it, and drops work that no call launched. */
static int join_slice(struct slices *slices, size_t number)
{
    struct projection *projection = slices->projection;
    size_t from = number * SLICE_ROWS, to = slice_end(slices->ops, number);
    uint32_t *runs = number_runs(projection, &slices->list[number]);

    if (!runs)
        return ERR_NO_MEMORY;
    for (size_t row = from; row < to; row++) {
        struct derived_nvtx_launched *work = &projection->work[projection->work_count];
        if (slices->work[row].run == NO_KEY)
            continue;
        *work = slices->work[row];
        work->run = runs[work->run];
        projection->work_count++;
    }
    free(runs);
    return 0;
}

static int derived_nvtx_add_work(struct projection *projection, const struct gpu_ops *ops)
{
    struct slices slices = { projection, ops, NULL, NULL, (ops->count + SLICE_ROWS - 1) / SLICE_ROWS };
    int code = 0;

    slices.list = calloc(slices.count + 1, sizeof *slices.list);
    if (!slices.list || array_reserve(&projection->work, &projection->work_room, projection->work_count + ops->count,
                                      sizeof *projection->work) != 0) {
        free(slices.list);
        return ERR_NO_MEMORY;
    }
    slices.work = ops->count ? projection->work + projection->work_count : NULL;
    report_parallel_for(projection->view->report, slices.count, take_slice, &slices);
    for (size_t i = 0; i < slices.count; i++) {
        code = code != 0 ? code : join_slice(&slices, i);
        keys_free(&slices.list[i].run_keys);
    }
    free(slices.list);
    return code;
}

/* Groups the work by run. */
static int deal(struct projection *projection)
{
    size_t count = projection->work_count, run_count = projection->run_keys.count;
    uint32_t *next;

    projection->order = next = malloc((count + 1) * sizeof *projection->order);
    projection->call_starts = malloc((count + 1) * sizeof *projection->call_starts);
    projection->runs = calloc(run_count + 1, sizeof *projection->runs);
    if (!projection->order || !projection->call_starts || !projection->runs || count >= UINT32_MAX)
        return ERR_NO_MEMORY;
    for (size_t i = 0; i < count; i++)
        projection->runs[projection->work[i].run].count++;
    for (size_t i = 0; i < run_count; i++) {
        projection->runs[i].order = next;
        next += projection->runs[i].count;
        projection->runs[i].count = 0;
    }
    for (size_t i = 0; i < count; i++) {
        struct derived_nvtx_run *run = &projection->runs[projection->work[i].run];
        run->order[run->count++] = (uint32_t)i;
        projection->call_starts[i] = projection->work[i].call_start_ns;
    }
    return 0;
}

/* ---- one run --------------------------------------------------------------------------------------------------- */

/* Work is nearly in order of its launches already. */
static int derived_nvtx_open_run(struct launch_run *launches, const struct projection *projection,
                                 struct derived_nvtx_run *run)
{
    if (launch_run_open(launches, run->count) != 0 ||
        order_by_time(run->order, run->count, projection->call_starts) != 0)
        return ERR_NO_MEMORY;
    for (size_t i = 0; i < run->count; i++) {
        const struct derived_nvtx_launched *work = &projection->work[run->order[i]];
        launch_run_set(launches, i, work->call_start_ns, work->call_end_ns,
                       (struct launch_run_work){ work->start_ns, work->end_ns, 1 });
    }
    launch_run_ready(launches);
    return 0;
}

static size_t first_range(const struct ranges *ranges, int64_t thread)
{
    return BISECT(0, ranges->count, i, ranges->list[i].thread < thread);
}

/* All ranges of the run's thread, in order of time. */
static int derived_nvtx_project(struct projection *projection, const struct launch_run *launches, int kind, int worker,
                                size_t number)
{
    const int64_t *of = keys_get(&projection->run_keys, (uint32_t)number);
    const struct ranges *ranges = &projection->ranges[kind];
    size_t from = 0;

    for (size_t i = first_range(ranges, of[THREAD]); i < ranges->count && ranges->list[i].thread == of[THREAD]; i++) {
        const struct range *range = &ranges->list[i];
        struct launch_run_work work = launch_run_inside(launches, range->start_ns, range->end_ns, &from);
        if (!work.ops)
            continue;
        struct view_taken event = {
            .start_ns = work.first_ns,
            .end_ns = work.last_ns,
            .table_row = range->row,
            .name = range->name == NVTX_NO_NAME ? projection->no_name : view_pool_name(range->name),
            .key = { projected_sources[kind].type, of[DEVICE], of[PROCESS], of[CONTEXT], of[STREAM] },
        };
        if (gather_add_as(&projection->gather, worker, number, (uint32_t)kind, &event) != 0)
            return ERR_NO_MEMORY;
    }
    return 0;
}

static void project_run(void *argument, int worker, size_t number)
{
    struct projection *projection = argument;
    struct derived_nvtx_run *run = &projection->runs[number];
    struct launch_run launches = { 0 };

    if ((run->code = derived_nvtx_open_run(&launches, projection, run)) != 0)
        goto close_run;
    for (int kind = 0; kind < KINDS; kind++)
        if ((run->code = derived_nvtx_project(projection, &launches, kind, worker, number)) != 0)
            goto close_run;
close_run:
    launch_run_close(&launches);
}

static int project_all(struct projection *projection)
{
    int code;

    if ((code = deal(projection)) != 0)
        return code;
    projection->no_name = view_own_name(projection->view, "[no message]");
    report_parallel_for(projection->view->report, projection->run_keys.count, project_run, projection);
    for (size_t i = 0; i < projection->run_keys.count; i++)
        if (projection->runs[i].code != 0)
            return projection->runs[i].code;
    return 0;
}

/* ---- work ------------------------------------------------------------------------------------------------------ */

static int derived_nvtx_no_memory(struct error *err)
{
    return error_short_memory(err, "to project the ranges onto the GPUs");
}

static int derived_nvtx_read_work(struct projection *projection, struct error *err)
{
    static const char *const context[] = { "contextId", NULL };
    struct gpu_ops ops = { 0 };
    int code;

    if ((code = calls_read(&projection->calls, projection->view->report, err)) != 0)
        return code;
    for (size_t i = 0; i < COUNT_OF(work_tables); i++) {
        if ((code = gpu_read_table(&ops, projection->view->report, work_tables[i], context, err)) != 0)
            return code;
        code = derived_nvtx_add_work(projection, &ops);
        gpu_free(&ops);
        if (code != 0)
            return derived_nvtx_no_memory(err);
    }
    calls_free(&projection->calls); /* before the projection, which needs memory of its own */
    return 0;
}

/* ---- annotations ----------------------------------------------------------------------------------------------- */

enum { ANNOTATION_START, ANNOTATION_END, ANNOTATION_THREAD, ANNOTATION_NAME, CATEGORY, ON_DEVICE, ANNOTATION_COLUMNS };

/* The rows that are annotations on a thread; none if the trace has annotations on the GPU already. */
static size_t find_annotations(struct report *report, const struct report_columns *columns, uint32_t *order)
{
    size_t count = 0;

    for (size_t row = 0; row < columns->rows; row++) {
        if (!columns_is_null(columns, ON_DEVICE, row))
            return 0;
        if (!columns_is_null(columns, ANNOTATION_END, row) && !columns_is_null(columns, ANNOTATION_THREAD, row) &&
            strcmp(report_string(report, columns->values[CATEGORY][row], NULL), "user_annotation") == 0)
            order[count++] = (uint32_t)row;
    }
    return count;
}

/* Makes ranges of the annotations, by thread and start. */
static int derived_nvtx_make_ranges(struct ranges *ranges, struct report *report, const struct report_columns *columns)
{
    uint32_t *order = malloc((columns->rows + 1) * sizeof *order);
    size_t count;
    int code = ERR_NO_MEMORY;

    ranges->list = malloc((columns->rows + 1) * sizeof *ranges->list);
    if (!order || !ranges->list || columns->rows >= NO_RANGE)
        goto free_order;
    count = find_annotations(report, columns, order);
    if (count &&
        order_by_thread(order, count, columns->values[ANNOTATION_THREAD], columns->values[ANNOTATION_START]) != 0)
        goto free_order;
    for (size_t i = 0; i < count; i++)
        ranges->list[ranges->count++] = (struct range){
            .start_ns = columns->values[ANNOTATION_START][order[i]],
            .end_ns = columns->values[ANNOTATION_END][order[i]],
            .thread = columns->values[ANNOTATION_THREAD][order[i]],
            .name = columns->values[ANNOTATION_NAME][order[i]],
            .row = order[i],
        };
    code = 0;
free_order:
    free(order);
    return code;
}

static int read_annotations(struct projection *projection, struct error *err)
{
    static const char *const names[ANNOTATION_COLUMNS] = {
        "start", "end", "globalTid", "nameId", "category", "deviceId"
    };
    struct report *report = projection->view->report;
    struct report_columns columns = { 0 };
    int code;

    if ((code = columns_read(report, "TACHO_TORCH_OP", names, ANNOTATION_COLUMNS, &columns, err)) != 0)
        return code;
    if (derived_nvtx_make_ranges(&projection->ranges[OF_TORCH], report, &columns) != 0)
        code = error_short_memory(err, "for the annotations");
    report_columns_free(&columns);
    return code;
}

/* ---- the whole ------------------------------------------------------------------------------------------------- */

enum { MOST_CALLS = 20000000 }; /* the join would take more memory than the timeline itself */

static int make_projections(struct projection *projection, struct error *err)
{
    struct ranges *nvtx = &projection->ranges[OF_NVTX];
    struct filter everything = { 0 };
    int code;

    if ((code = ranges_read(nvtx, projection->view->report, RANGE_PUSHPOP | RANGE_STARTEND, &everything, err)) != 0 ||
        (code = read_annotations(projection, err)) != 0)
        return code;
    if (!nvtx->count && !projection->ranges[OF_TORCH].count)
        return 0;
    if ((code = derived_nvtx_read_work(projection, err)) != 0 ||
        (code = gather_open(&projection->gather, projection->view, &projected, err)) != 0)
        return code;
    if (project_all(projection) != 0)
        return derived_nvtx_no_memory(err);
    return gather_finish(&projection->gather, err);
}

static void projection_free(struct projection *projection)
{
    gather_close(&projection->gather);
    for (int kind = 0; kind < KINDS; kind++)
        ranges_free(&projection->ranges[kind]);
    calls_free(&projection->calls);
    keys_free(&projection->run_keys);
    free(projection->work);
    free(projection->order);
    free(projection->call_starts);
    free(projection->runs);
}

int derived_gpu_nvtx(struct view *view, struct error *err)
{
    struct projection projection = { .view = view, .run_keys.width = RUN_PARTS };
    const struct report_table *calls = report_table(view->report, "CUPTI_ACTIVITY_KIND_RUNTIME");

    if (!calls || !calls->rows)
        return 0;
    if (calls->rows > MOST_CALLS) {
        view->is_unprojected = 1;
        return 0;
    }
    int code = make_projections(&projection, err);
    projection_free(&projection);
    return code;
}
