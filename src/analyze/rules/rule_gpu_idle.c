/* The rules gpu_gaps and gpu_time_util: when a GPU had nothing to do, or little. */
#include <stdlib.h>

#include "analyze/engine/keys.h"
#include "analyze/engine/order.h"
#include "analyze/engine/report_options.h"
#include "analyze/model/gpu.h"
#include "analyze/model/timed_steps.h"
#include "analyze/registry.h"
#include "base/human.h"
#include "rule.h"

/* All work of a process on a device, in order of its start. */
struct device_work {
    int64_t pid, device, context; /* the first context other than 0 */
    const int64_t *start, *end;   /* of the work of all devices */
    const uint32_t *order;        /* this device's indices in these, in order of start */
    size_t count;
    const struct step_pauses *pauses;
};

struct idle_rule_work {
    struct keys devices;            /* process and device */
    int64_t *start, *end, *context; /* owned, as all below; of all work */
    uint32_t *device, *order;
    size_t count;
    struct step_pauses pauses;      /* nothing was recorded: no idle time */
};

static void idle_rule_work_free(struct idle_rule_work *work)
{
    keys_free(&work->devices);
    free(work->start);
    free(work->end);
    free(work->context);
    free(work->device);
    free(work->order);
    step_pauses_free(&work->pauses);
}

static int idle_rule_make_room(struct idle_rule_work *work, size_t count)
{
    work->start = malloc((count + 1) * sizeof *work->start);
    work->end = malloc((count + 1) * sizeof *work->end);
    work->context = malloc((count + 1) * sizeof *work->context);
    work->device = malloc((count + 1) * sizeof *work->device);
    work->order = malloc((count + 1) * sizeof *work->order);
    return work->start && work->end && work->context && work->device && work->order && count < UINT32_MAX
               ? 0
               : ERR_NO_MEMORY;
}

static int idle_rule_add_ops(struct idle_rule_work *work, const struct gpu_ops *ops, const struct filter *filter)
{
    for (size_t row = 0; row < ops->count; row++) {
        if (!gpu_counts(ops, row, filter))
            continue;
        work->start[work->count] = ops->start[row];
        work->end[work->count] = ops->end[row];
        work->context[work->count] = gpu_extra(ops, 0, row);
        work->device[work->count] = keys_add(&work->devices, (int64_t[]){ ops->process[row], ops->device[row] });
        if (work->device[work->count] == NO_KEY)
            return ERR_NO_MEMORY;
        work->order[work->count] = (uint32_t)work->count;
        work->count++;
    }
    return 0;
}

static int gather_work(struct idle_rule_work *work, const struct gpu_ops ops[GPU_KINDS], const struct filter *filter)
{
    size_t total = 0;

    for (int kind = 0; kind < GPU_KINDS; kind++)
        total += ops[kind].count;
    if (idle_rule_make_room(work, total) != 0)
        return ERR_NO_MEMORY;
    for (int kind = 0; kind < GPU_KINDS; kind++)
        if (idle_rule_add_ops(work, &ops[kind], filter) != 0)
            return ERR_NO_MEMORY;
    return order_by_time(work->order, work->count, work->start);
}

static int idle_rule_work_read(struct idle_rule_work *work, struct report *report, const struct rule *rule,
                               struct error *err)
{
    static const char *const extra[] = { "contextId", NULL };
    struct gpu_ops ops[GPU_KINDS] = { 0 };
    struct filter filter;
    int code;

    *work = (struct idle_rule_work){ .devices.width = 2 };
    if ((code = filter_open(&filter, report, &rule->request, err)) != 0 ||
        (code = step_pauses_read(&work->pauses, report, err)) != 0)
        goto done;
    for (int kind = 0; kind < GPU_KINDS; kind++)
        if ((code = gpu_read(&ops[kind], report, (enum gpu_kind)kind, extra, err)) != 0)
            goto done;
    if (gather_work(work, ops, &filter) != 0)
        code = error_short_memory(err, "for the GPU work");
done:
    for (int kind = 0; kind < GPU_KINDS; kind++)
        gpu_free(&ops[kind]);
    filter_close(&filter);
    return code;
}

/* The work of one device; `order` has room for all work. */
static struct device_work work_of_device(const struct idle_rule_work *work, uint32_t key, uint32_t *order)
{
    const int64_t *place = keys_get(&work->devices, key);
    struct device_work device = {
        .pid = global_pid_number(place[0]),
        .device = place[1],
        .start = work->start,
        .end = work->end,
        .order = order,
        .pauses = &work->pauses,
    };

    for (size_t i = 0; i < work->count; i++) {
        uint32_t at = work->order[i];
        if (work->device[at] != key)
            continue;
        if (!device.context)
            device.context = work->context[at];
        order[device.count++] = at;
    }
    return device;
}

static int for_each_device(const struct idle_rule_work *work,
                           int (*visit)(void *context, const struct device_work *device), void *context)
{
    uint32_t *order = malloc((work->count + 1) * sizeof *order);
    int code = 0;

    if (!order)
        return ERR_NO_MEMORY;
    for (uint32_t key = 0; key < work->devices.count; key++) {
        struct device_work device = work_of_device(work, key, order);
        if ((code = visit(context, &device)) != 0)
            goto free_order;
    }
free_order:
    free(order);
    return code;
}

static void idle_rule_set_device(struct table_cell *cells, const struct device_work *device)
{
    cell_set_int(&cells[0], device->pid);
    cell_set_int(&cells[1], device->device);
    cell_set_int(&cells[2], device->context);
}

struct idle_rule_gap_search {
    struct table *table;
    int64_t least_ns;
};

static int find_gaps(void *context, const struct device_work *device)
{
    struct idle_rule_gap_search *search = context;
    int64_t until = INT64_MAX; /* the end of all work so far */

    for (size_t i = 0; i < device->count; i++) {
        int64_t start = device->start[device->order[i]], end = device->end[device->order[i]];
        if (i > 0 && start > until && saturating_duration(until, start) > search->least_ns &&
            !step_pauses_overlap(device->pauses, until, start)) {
            struct table_cell *row = table_add_row(search->table);
            if (!row)
                return ERR_NO_MEMORY;
            cell_set_int(&row[1], saturating_duration(until, start));
            cell_set_int(&row[2], until);
            idle_rule_set_device(&row[3], device);
        }
        until = i == 0 || end > until ? end : until;
    }
    return 0;
}

static int gpu_gaps(struct report *report, const struct analysis_request *request, struct table **out,
                    struct error *err)
{
    static const struct table_column columns[] = {
        { "Row#", CELL_INT, UNIT_ID, 0 }, { "Duration", CELL_INT, UNIT_NS, 0 },  { "Start", CELL_INT, UNIT_TIME, 0 },
        { "PID", CELL_INT, UNIT_ID, 0 },  { "Device ID", CELL_INT, UNIT_ID, 0 }, { "Context ID", CELL_INT, UNIT_ID, 0 },
    };
    struct idle_rule_gap_search search = { 0 };
    struct idle_rule_work work;
    struct rule rule;
    int64_t gap_ms;

    int code;

    if ((code = option_number(request, "gap", 500, 0, INT64_MAX / 1000000, &gap_ms, err)) != 0 ||
        (code = rule_open(&rule, report, request, err)) != 0)
        return code;
    if ((code = idle_rule_work_read(&work, report, &rule, err)) != 0)
        goto free_work;
    search.table = table_new(columns, COUNT_OF(columns));
    search.least_ns = gap_ms * 1000000;
    code = search.table ? for_each_device(&work, find_gaps, &search) : ERR_NO_MEMORY;
free_work:
    idle_rule_work_free(&work);
    return rule_finish(&rule, search.table, code, BY(DOWN(1), 2), out, err);
}

enum { USE_NUMBER, USE_SHARE, USE_DURATION, USE_START, USE_PID, USE_DEVICE, USE_CONTEXT, USE_CELLS };

struct chunk_search {
    struct table *table;
    int64_t chunks;
    double threshold; /* percent */
};

/* Adds a span in which the GPU was used less than the threshold. used_ns is the sum of all work in it; work that ran
 * side by side counts for each. */
static int idle_rule_add_span(struct chunk_search *search, const struct device_work *device, int64_t start, int64_t end,
                              double used_ns)
{
    struct table_cell *row = table_add_row(search->table);

    if (!row)
        return ERR_NO_MEMORY;
    cell_set_real(&row[USE_SHARE], 100 * used_ns / (double)saturating_duration(start, end));
    cell_set_int(&row[USE_DURATION], saturating_duration(start, end));
    cell_set_int(&row[USE_START], start);
    idle_rule_set_device(&row[USE_PID], device);
    return 0;
}

/* The time from the first to the last work, as offsets from its begin: any two times have a distance in uint64_t. */
struct chunks {
    int64_t first_ns;
    uint64_t span, length; /* of all, of one */
    int64_t count;
    double *used_ns;       /* owned */
};

/* Spreads a span over the chunks that it lies in. */
static void idle_rule_spread(const struct chunks *chunks, int64_t start_ns, int64_t end_ns)
{
    uint64_t start = start_ns < chunks->first_ns ? 0 : (uint64_t)start_ns - (uint64_t)chunks->first_ns;
    uint64_t end = end_ns < chunks->first_ns ? 0 : (uint64_t)end_ns - (uint64_t)chunks->first_ns;

    for (int64_t chunk = (int64_t)(start / chunks->length); chunk < chunks->count; chunk++) {
        uint64_t from = (uint64_t)chunk * chunks->length, to = from + chunks->length;
        uint64_t begin = start > from ? start : from, stop = end < to ? end : to;
        if (stop <= begin)
            break;
        chunks->used_ns[chunk] += (double)(stop - begin);
    }
}

static void idle_rule_measure(const struct device_work *device, const struct chunks *chunks)
{
    for (size_t i = 0; i < device->count; i++)
        idle_rule_spread(chunks, device->start[device->order[i]], device->end[device->order[i]]);
    for (size_t i = 0; i < device->pauses->count; i++)
        idle_rule_spread(chunks, device->pauses->list[i].from_ns, device->pauses->list[i].to_ns);
}

/* Adds the chunks below the threshold; neighbours become one span. */
static int add_low_chunks(struct chunk_search *search, const struct device_work *device, const struct chunks *chunks)
{
    uint64_t low_start = 0, low_end = 0;
    double low_ns = 0;

    for (int64_t i = 0; i <= chunks->count; i++) {
        uint64_t start = (uint64_t)i * chunks->length,
                 end = start + chunks->length < chunks->span ? start + chunks->length : chunks->span;
        int low = i < chunks->count && end > start &&
                  100 * chunks->used_ns[i] / (double)(end - start) < search->threshold;
        if (low) {
            low_start = low_end > low_start ? low_start : start;
            low_end = end;
            low_ns += chunks->used_ns[i];
            continue;
        }
        if (low_end > low_start &&
            idle_rule_add_span(search, device, saturating_add(chunks->first_ns, (int64_t)low_start),
                               saturating_add(chunks->first_ns, (int64_t)low_end), low_ns) != 0)
            return ERR_NO_MEMORY;
        low_start = low_end = end;
        low_ns = 0;
    }
    return 0;
}

static int idle_rule_find_chunks(void *context, const struct device_work *device)
{
    struct chunk_search *search = context;
    int64_t first = device->start[device->order[0]], last = first;

    for (size_t i = 0; i < device->count; i++)
        last = device->end[device->order[i]] > last ? device->end[device->order[i]] : last;
    struct chunks chunks = { .first_ns = first, .span = (uint64_t)last - (uint64_t)first, .count = search->chunks };
    if (!chunks.span || chunks.span > INT64_MAX / 2)
        return 0;
    chunks.length = (chunks.span + (uint64_t)chunks.count - 1) / (uint64_t)chunks.count;
    chunks.used_ns = calloc((size_t)chunks.count, sizeof *chunks.used_ns);
    if (!chunks.used_ns)
        return ERR_NO_MEMORY;
    idle_rule_measure(device, &chunks);
    int code = add_low_chunks(search, device, &chunks);
    free(chunks.used_ns);
    return code;
}

static int gpu_time_util(struct report *report, const struct analysis_request *request, struct table **out,
                         struct error *err)
{
    static const struct table_column columns[USE_CELLS] = {
        { "Row#", CELL_INT, UNIT_ID, 0 },       { "In-Use", CELL_REAL, UNIT_PERCENT, 1 },
        { "Duration", CELL_INT, UNIT_NS, 0 },   { "Start", CELL_INT, UNIT_TIME, 0 },
        { "PID", CELL_INT, UNIT_ID, 0 },        { "Device ID", CELL_INT, UNIT_ID, 0 },
        { "Context ID", CELL_INT, UNIT_ID, 0 },
    };
    struct chunk_search search = { 0 };
    struct idle_rule_work work;
    struct rule rule;
    int64_t threshold;
    int code;

    if ((code = option_number(request, "chunks", 30, 1, 1000, &search.chunks, err)) != 0 ||
        (code = option_number(request, "threshold", 50, 1, 100, &threshold, err)) != 0 ||
        (code = rule_open(&rule, report, request, err)) != 0)
        return code;
    if ((code = idle_rule_work_read(&work, report, &rule, err)) != 0)
        goto free_work;
    search.threshold = (double)threshold;
    search.table = table_new(columns, USE_CELLS);
    code = search.table ? for_each_device(&work, idle_rule_find_chunks, &search) : ERR_NO_MEMORY;
free_work:
    idle_rule_work_free(&work);
    return rule_finish(&rule, search.table, code, BY(USE_SHARE, DOWN(USE_DURATION), USE_START), out, err);
}

/* "GPU 0 was in use for 3.74 % of a span of 10.1 ms" */
static void say_use(struct text *out, const struct table *table, size_t at)
{
    const struct table_cell *row = table_row(table, at);

    text_addf(out, "GPU %lld was in use for %.3g %% of a span of ", (long long)row[USE_DEVICE].integer,
              row[USE_SHARE].real);
    human_time(out, row[USE_DURATION].integer);
}

const struct analysis rule_gpu_gaps = {
    .name = "gpu_gaps",
    .title = "GPU Gaps",
    .usage = RULE_OPTIONS "[:gap=<ms>]",
    .help = "Gaps of more than gap ms (default: 500) in which a GPU had no work of a process, between its first and "
            "its last work.",
    .needs = { { "CUDA trace data", gpu_tables } },
    .run = gpu_gaps,
    .rule = ANALYSIS_RULE(
            .advice = "Check the activity of the CPU in these gaps: loading or preparing data, waiting for a file or "
                      "another process. Move it to other threads, or overlap it with GPU work.",
            .meaning = "The GPU had no work of this process", .praise = "No GPU had a gap of that length.",
            .is_listing = 1),
};

const struct analysis rule_gpu_time_util = {
    .name = "gpu_time_util",
    .title = "GPU Time Utilization",
    .usage = RULE_OPTIONS "[:chunks=<number>][:threshold=<percent>]",
    .help = "Time chunks in which a GPU was in use for less than threshold percent (default: 50). The time from the "
            "first to the last work on a GPU is divided into chunks (default: 30) of equal length; adjacent chunks are "
            "merged. Overlapping work counts several times.",
    .needs = { { "CUDA trace data", gpu_tables } },
    .run = gpu_time_util,
    .rule = ANALYSIS_RULE(
            .advice = "The GPU had too little to do in these chunks. Use larger batches, fewer and larger "
                      "kernels, CUDA graphs, or more work in flight (several streams, data prefetching).",
            .finding = say_use, .praise = "The GPU was in use for at least threshold percent of every chunk.",
            .is_listing = 1),
};

static int dx12_mem_ops(struct report *report, const struct analysis_request *request, struct table **out,
                        struct error *err)
{
    return error_set(err, ERR_NO_DATA, "Tacho does not analyze Direct3D 12");
}

const struct analysis rule_dx12_mem_ops = {
    .name = "dx12_mem_ops",
    .title = "DX12 Memory Operations",
    .usage = RULE_OPTIONS,
    .help = "Windows only, and always skipped.",
    .needs = { { "DX12 data", TABLES(NULL) } },
    .run = dx12_mem_ops,
    .rule = ANALYSIS_RULE(.advice = "", .meaning = "", .praise = "", .is_listing = 1),
};
