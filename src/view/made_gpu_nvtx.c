/* NVTX ranges as a stream saw them: from the begin of the first to the end of the last work there that was launched inside the range, by
 * the thread of the range.
 *
 * Work is dealt out by launching thread and stream and put in order of launch, so that what a range launched on a stream lies together; first begin
 * and last end over any run come from a tree, as in analyze/nvtx_gpu_proj.c, which does the same for all streams together. */
#include <stdlib.h>

#include "../analyze/launches.h"
#include "../analyze/order.h"
#include "made.h"

static const struct view_source projected_source[] = { { .table = "NVTX_EVENTS", .start = "start", .type = ROW_GPU_NVTX } };
static const struct view_family projected = { projected_source, 1 };

enum { THREAD, DEVICE, PROCESS, CONTEXT, STREAM, RUN_PARTS };

struct launched {
    int64_t call_start_ns, call_end_ns, start_ns, end_ns;
    uint32_t run;
};
struct span { int64_t first_ns, last_ns; };

/* The work of one thread on one stream. */
struct run { uint32_t key; size_t first, count; };

struct projection {
    struct view *view;
    struct calls calls;
    struct ranges ranges;
    struct keys run_keys;
    struct launched *work; /* owned; as it is found */
    size_t work_count;
    uint32_t *order;       /* owned; the work by run, then by begin of the call */
    struct span *tree;     /* owned; leaf i, at work_count + i, is of order[i]; node n is of its children 2n and 2n + 1 */
    struct run *runs;      /* owned; by thread */
    size_t run_count;
};

static const char *const work_tables[] = { "CUPTI_ACTIVITY_KIND_KERNEL", "CUPTI_ACTIVITY_KIND_MEMCPY", "CUPTI_ACTIVITY_KIND_MEMSET",
                                           "CUPTI_ACTIVITY_KIND_GRAPH_TRACE" };

static int add_work(struct projection *projection, const struct gpu_ops *ops)
{
    struct launched *work = realloc(projection->work, (projection->work_count + ops->count + 1) * sizeof *work);

    if (!work)
        return ERR_NO_MEMORY;
    projection->work = work;
    for (size_t row = 0; row < ops->count; row++) {
        uint32_t call = calls_find(&projection->calls, ops->process[row], ops->correlation[row]);
        if (call == NO_CALL)
            continue;
        uint32_t run = keys_add(&projection->run_keys, (int64_t[]){ projection->calls.thread[call], ops->device[row], ops->process[row],
                                                                    gpu_extra(ops, 0, row), ops->stream[row] });
        if (run == NO_KEY)
            return ERR_NO_MEMORY;
        work[projection->work_count++] = (struct launched){ projection->calls.start[call], projection->calls.end[call], ops->start[row], ops->end[row], run };
    }
    return 0;
}

static struct span joined(struct span a, struct span b)
{
    return (struct span){ a.first_ns < b.first_ns ? a.first_ns : b.first_ns, a.last_ns > b.last_ns ? a.last_ns : b.last_ns };
}

static int64_t run_thread(const struct projection *projection, const struct run *run)
{
    return keys_get(&projection->run_keys, run->key)[THREAD];
}

static int by_thread(const void *a, const void *b, void *context)
{
    int64_t x = run_thread(context, a), y = run_thread(context, b);

    return (x > y) - (x < y);
}

/* Deals the work out to its runs; each is nearly in order of its calls already. */
static int deal(struct projection *projection, int64_t *call_starts)
{
    size_t count = projection->work_count, first = 0;
    int code = 0;

    for (size_t i = 0; i < projection->run_count; i++)
        projection->runs[i] = (struct run){ .key = (uint32_t)i };
    for (size_t i = 0; i < count; i++)
        projection->runs[projection->work[i].run].count++;
    for (size_t i = 0; i < projection->run_count; i++) {
        projection->runs[i].first = first;
        first += projection->runs[i].count;
        projection->runs[i].count = 0;
    }
    for (size_t i = 0; i < count; i++) {
        struct run *run = &projection->runs[projection->work[i].run];
        projection->order[run->first + run->count++] = (uint32_t)i;
        call_starts[i] = projection->work[i].call_start_ns;
    }
    for (size_t i = 0; i < projection->run_count && code == 0; i++)
        code = order_by_time(projection->order + projection->runs[i].first, projection->runs[i].count, call_starts);
    qsort_r(projection->runs, projection->run_count, sizeof *projection->runs, by_thread, projection);
    return code;
}

static int arrange(struct projection *projection)
{
    size_t count = projection->work_count;
    int64_t *call_starts = malloc((count + 1) * sizeof *call_starts);

    projection->run_count = projection->run_keys.count;
    projection->order = malloc((count + 1) * sizeof *projection->order);
    projection->tree = malloc((2 * count + 1) * sizeof *projection->tree);
    projection->runs = malloc((projection->run_count + 1) * sizeof *projection->runs);
    int code = call_starts && projection->order && projection->tree && projection->runs && count < UINT32_MAX ? deal(projection, call_starts) : ERR_NO_MEMORY;
    free(call_starts);
    for (size_t i = 0; i < count && code == 0; i++)
        projection->tree[count + i] = (struct span){ projection->work[projection->order[i]].start_ns, projection->work[projection->order[i]].end_ns };
    for (size_t i = count; i-- > 1 && code == 0;)
        projection->tree[i] = joined(projection->tree[2 * i], projection->tree[2 * i + 1]);
    return code;
}

static struct span span_of(const struct projection *projection, size_t from, size_t to)
{
    struct span span = { INT64_MAX, INT64_MIN };

    for (from += projection->work_count, to += projection->work_count; from < to; from /= 2, to /= 2) {
        if (from & 1)
            span = joined(span, projection->tree[from++]);
        if (to & 1)
            span = joined(span, projection->tree[--to]);
    }
    return span;
}

/* The first work of the run whose call begins at the time or later. */
static size_t find_call(const struct projection *projection, const struct run *run, int64_t time_ns)
{
    size_t low = run->first, high = run->first + run->count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (projection->work[projection->order[middle]].call_start_ns < time_ns)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static int project(const struct projection *projection, struct gather *gather, const struct range *range, const struct run *run, uint32_t no_name)
{
    size_t from = find_call(projection, run, range->start_ns), end = run->first + run->count;
    size_t to = range->end_ns == INT64_MAX ? end : find_call(projection, run, range->end_ns + 1);

    while (to > from && projection->work[projection->order[to - 1]].call_end_ns > range->end_ns)
        to--; /* a call that outlasts the range is not in it */
    if (from >= to)
        return 0;
    struct span span = span_of(projection, from, to);
    const int64_t *of = keys_get(&projection->run_keys, run->key);
    struct taken event = { .start_ns = span.first_ns, .end_ns = span.last_ns, .table_row = range->row,
                           .name = range->name == NVTX_NO_NAME ? no_name : view_pool_name(range->name),
                           .key = { ROW_GPU_NVTX, of[DEVICE], of[PROCESS], of[CONTEXT], of[STREAM] } };
    return gather_add(gather, 0, &event);
}

/* Ranges and runs are both in order of threads. */
static int project_all(const struct projection *projection, struct gather *gather)
{
    uint32_t no_name = view_own_name(projection->view, "[no message]");
    size_t run = 0;
    int code = 0;

    for (size_t i = 0; i < projection->ranges.count && code == 0; i++) {
        const struct range *range = &projection->ranges.list[i];
        while (run < projection->run_count && run_thread(projection, &projection->runs[run]) < range->thread)
            run++;
        for (size_t r = run; r < projection->run_count && run_thread(projection, &projection->runs[r]) == range->thread && code == 0; r++)
            code = project(projection, gather, range, &projection->runs[r], no_name);
    }
    return code;
}

static int read_work(struct projection *projection, struct error *err)
{
    static const char *const context[] = { "contextId", NULL };
    int code = calls_read(&projection->calls, projection->view->report, err);

    for (size_t i = 0; i < sizeof work_tables / sizeof *work_tables && code == 0; i++) {
        struct gpu_ops ops;
        code = gpu_read_table(&ops, projection->view->report, work_tables[i], context, err);
        if (code != 0)
            break;
        if (add_work(projection, &ops) != 0)
            code = error_set(err, ERR_NO_MEMORY, "not enough memory to project the ranges onto the GPUs");
        gpu_free(&ops);
    }
    calls_free(&projection->calls);
    return code;
}

enum { MOST_CALLS = 20000000 }; /* the join would take more memory than the timeline itself */

int made_gpu_nvtx(struct view *view, struct error *err)
{
    struct projection projection = { .view = view, .run_keys.width = RUN_PARTS };
    const struct report_table *calls = report_table(view->report, "CUPTI_ACTIVITY_KIND_RUNTIME");
    struct filter everything = {0};
    struct gather gather = {0};

    if (!calls || !calls->rows || calls->rows > MOST_CALLS)
        return 0;
    int code = ranges_read(&projection.ranges, view->report, RANGE_PUSHPOP | RANGE_STARTEND, &everything, err);
    if (code == 0 && projection.ranges.count) {
        code = read_work(&projection, err);
        if (code == 0)
            code = gather_open(&gather, view, &projected, err);
        if (code == 0 && (arrange(&projection) != 0 || project_all(&projection, &gather) != 0))
            code = error_set(err, ERR_NO_MEMORY, "not enough memory to project the ranges onto the GPUs");
        if (code == 0)
            code = gather_finish(&gather, err);
        gather_close(&gather);
    }
    ranges_free(&projection.ranges);
    keys_free(&projection.run_keys);
    free(projection.work);
    free(projection.order);
    free(projection.tree);
    free(projection.runs);
    return code;
}
