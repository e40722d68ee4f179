/* The rule cuda_api_sync: calls that wait for the GPU.
 *
 * A wait for a GPU that works costs nothing by itself. It costs time if the GPU has nothing to do meanwhile, or runs
 * out of work right after it: without the wait the thread could have launched more, earlier by the time that it
 * waited. */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "analyze/engine/order.h"
#include "analyze/model/calls.h"
#include "analyze/model/gpu.h"
#include "analyze/model/gpu_busy.h"
#include "analyze/registry.h"
#include "base/array.h"
#include "base/human.h"
#include "rule.h"

static int waits(const char *call)
{
    return strncasecmp(call, "cudaDeviceSynchronize", 21) == 0 || strncasecmp(call, "cudaStreamSynchronize", 21) == 0;
}

enum { DURATION, START, PID, TID, NAME, CELLS };

static int add_row(struct table *table, const struct calls *calls, size_t call, const char *name)
{
    struct table_cell *row = table_add_row(table);

    if (!row)
        return ERR_NO_MEMORY;
    cell_set_int(&row[DURATION], saturating_duration(calls->start[call], calls->end[call]));
    cell_set_int(&row[START], calls->start[call]);
    cell_set_int(&row[PID], global_pid_number(calls->thread[call]));
    cell_set_int(&row[TID], global_tid_number(calls->thread[call]));
    return cell_set_text(table, &row[NAME], name, strlen(name));
}

static int add_waits(struct table *table, const struct calls *calls, struct report *report, const struct rule *rule)
{
    const struct filter filter = { .span = &rule->span, .only = rule->only };
    int64_t last_name = -1;
    int last_waits = 0;

    for (size_t call = 0; call < calls->count; call++) {
        if (!filter_thread(&filter, calls->thread[call], calls->start[call], calls->end[call]))
            continue;
        if (calls->name[call] != last_name) {
            last_name = calls->name[call];
            last_waits = waits(report_string(report, last_name, NULL));
        }
        if (last_waits && add_row(table, calls, call, report_string(report, last_name, NULL)) != 0)
            return ERR_NO_MEMORY;
    }
    return 0;
}

static int cuda_api_sync(struct report *report, const struct analysis_request *request, struct table **out,
                         struct error *err)
{
    static const struct table_column columns[CELLS] = {
        { "Duration", CELL_INT, UNIT_NS, 0 }, { "Start", CELL_INT, UNIT_TIME, 0 },     { "PID", CELL_INT, UNIT_ID, 0 },
        { "TID", CELL_INT, UNIT_ID, 0 },      { "API Name", CELL_TEXT, UNIT_NAME, 0 },
    };
    struct rule rule;
    struct calls calls = { 0 };
    struct table *table = NULL;
    int code;

    if ((code = rule_open(&rule, report, request, err)) != 0)
        return code;
    if ((code = calls_read(&calls, report, err)) != 0)
        goto free_calls;
    table = table_new(columns, CELLS);
    code = table ? add_waits(table, &calls, report, &rule) : ERR_NO_MEMORY;
free_calls:
    calls_free(&calls);
    return rule_finish(&rule, table, code, rule_by_duration, out, err);
}

/* ---- what waits cost ------------------------------------------------------------------------------------------- */

/* A time in which no GPU had work of the process, from its first work on; the last one has no end. */
#define NO_END INT64_MAX
struct idle {
    int64_t from_ns, to_ns;
};
struct idle_times {
    struct idle *list; /* owned; by time */
    size_t count, room;
    int has_work;      /* 0: no work was recorded, so nothing is known */
};

/* A GPU begins to work, or runs out of work. */
struct turn {
    int64_t time_ns;
    int by;
};

static int by_time(const void *a, const void *b)
{
    const struct turn *x = a, *y = b;

    if (x->time_ns != y->time_ns)
        return x->time_ns > y->time_ns ? 1 : -1;
    return y->by - x->by; /* a GPU that takes over leaves no gap */
}

static int walk_turns(struct idle_times *idle, struct turn *turns, size_t count)
{
    int working = 0;

    qsort(turns, count, sizeof *turns, by_time);
    for (size_t i = 0; i < count; i++) {
        if (working == 0 && idle->count)
            idle->list[idle->count - 1].to_ns = turns[i].time_ns;
        working += turns[i].by;
        if (working > 0)
            continue;
        if (array_reserve(&idle->list, &idle->room, idle->count + 1, sizeof *idle->list) != 0)
            return ERR_NO_MEMORY;
        idle->list[idle->count++] = (struct idle){ turns[i].time_ns, NO_END };
    }
    return 0;
}

static int find_idle(struct idle_times *idle, const struct gpu_busy *busy)
{
    size_t count = 0;
    struct turn *turns = malloc(2 * (busy->device_count + busy->gap_count + 1) * sizeof *turns);

    if (!turns)
        return ERR_NO_MEMORY;
    for (size_t i = 0; i < busy->device_count; i++) {
        turns[count++] = (struct turn){ busy->devices[i].first_ns, 1 };
        turns[count++] = (struct turn){ busy->devices[i].last_ns, -1 };
    }
    for (size_t i = 0; i < busy->gap_count; i++) {
        turns[count++] = (struct turn){ busy->gaps[i].start_ns, -1 };
        turns[count++] = (struct turn){ saturating_add(busy->gaps[i].start_ns, busy->gaps[i].length_ns), 1 };
    }
    idle->has_work = count > 0;
    int code = count ? walk_turns(idle, turns, count) : 0;
    free(turns);
    return code;
}

static int64_t cost_of(const struct idle_times *idle, int64_t start_ns, int64_t wait_ns)
{
    int64_t end_ns = saturating_add(start_ns, wait_ns), cost = 0;
    size_t low = 0, high = idle->count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (idle->list[middle].to_ns <= start_ns)
            low = middle + 1;
        else
            high = middle;
    }
    for (; low < idle->count && idle->list[low].from_ns < end_ns; low++) {
        int64_t from = idle->list[low].from_ns > start_ns ? idle->list[low].from_ns : start_ns,
                to = idle->list[low].to_ns == NO_END ? end_ns : idle->list[low].to_ns;
        cost = saturating_add(cost, saturating_duration(from, to));
    }
    return cost < wait_ns && idle->has_work ? cost : wait_ns;
}

/* Sets the costs of rows, which are all of one process. */
static int set_costs(struct report *report, const struct table *table, const uint32_t *rows, size_t count, int64_t *out,
                     struct error *err)
{
    const struct analysis_filter only = { .only = ONLY_PID, .pid = table_row(table, rows[0])[PID].integer };
    const struct analysis_request request = { .filter = &only };
    struct idle_times idle = { 0 };
    struct gpu_busy busy = { 0 };
    int code;

    if ((code = gpu_busy_read_gaps(&busy, report, &request, 1, err)) != 0)
        return code;
    if (find_idle(&idle, &busy) != 0) {
        code = error_set(err, ERR_NO_MEMORY, "not enough memory for the gaps of GPUs");
        goto done;
    }
    for (size_t i = 0; i < count; i++) {
        const struct table_cell *cells = table_row(table, rows[i]);
        out[rows[i]] = cost_of(&idle, cells[START].integer, cells[DURATION].integer);
    }
done:
    gpu_busy_free(&busy);
    free(idle.list);
    return code;
}

static int costs(struct report *report, const struct table *table, int64_t *out, struct error *err)
{
    size_t rows = table_row_count(table);
    uint32_t *order = malloc((rows + 1) * sizeof *order);
    int64_t *pids = malloc((rows + 1) * sizeof *pids);
    int code = 0;

    for (size_t row = 0; order && pids && row < rows; row++) {
        order[row] = (uint32_t)row;
        pids[row] = table_row(table, row)[PID].integer;
    }
    if (!order || !pids || rows >= UINT32_MAX || order_by_time(order, rows, pids) != 0) {
        code = error_set(err, ERR_NO_MEMORY, "not enough memory for the waits");
        goto free_order;
    }
    for (size_t first = 0, behind; first < rows; first = behind) {
        for (behind = first + 1; behind < rows && pids[order[behind]] == pids[order[first]];)
            behind++;
        if ((code = set_costs(report, table, order + first, behind - first, out, err)) != 0)
            goto free_order;
    }
free_order:
    free(order);
    free(pids);
    return code;
}

/* The impact, which is printed beside it, is less than the wait. */
static void say(struct text *out, const struct table *table, size_t row)
{
    const struct table_cell *cells = table_row(table, row);

    text_add(out, "The GPU was idle during or right after a wait for it: ");
    text_add_bytes(out, cells[NAME].text.bytes, call_name_length(cells[NAME].text.bytes, cells[NAME].text.length));
    text_add(out, " took ");
    human_time(out, cells[DURATION].integer);
    text_add(out, " in all");
}

const struct analysis rule_cuda_api_sync = {
    .name = "cuda_api_sync",
    .title = "CUDA Synchronization APIs",
    .usage = RULE_OPTIONS "[:process=<pid>][:thread=<tid>]",
    .help = "Calls of cudaDeviceSynchronize and cudaStreamSynchronize, which block the host until the GPU is done. The "
            "impact of a call (advice_sum) is the part of it in which no GPU had work of the process, and the time up "
            "to the next work after it; at most its duration. A wait for a GPU that works all the time costs nothing.",
    .needs = { { "CUDA trace data", gpu_call_tables } },
    .run = cuda_api_sync,
    .impact = costs,
    .advice = "A blocked thread launches nothing, and the GPU runs out of work. Synchronize later, or on less: wait "
              "for an event instead of the device, or let one stream wait for another (cudaStreamWaitEvent). In "
              "PyTorch, avoid .item(), .cpu() and printing tensors inside the loop.",
    .finding = say,
    .praise = "No call blocked the host for a device or a stream.",
};
