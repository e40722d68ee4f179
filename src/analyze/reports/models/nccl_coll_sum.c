/* nccl_coll_sum: operations of NCCL by function, algorithm and protocol, with the time of their kernels.
 *
 * NCCL reports a group of operations in the thread that launched their kernel, right after the launch. So the kernel of
 * a group is the last NCCL kernel that the thread launched before the group began, unless an earlier group has it: one
 * launch is one group. Operations of a group share the time of its kernel by their bytes. */
#include <stdlib.h>
#include <string.h>

#include "analyze/engine/cell_text.h"
#include "analyze/engine/order.h"
#include "analyze/engine/report_run.h"
#include "analyze/model/filter.h"
#include "analyze/model/gpu.h"
#include "analyze/model/names/communication.h"
#include "analyze/registry.h"
#include "base/array.h"
#include "base/map.h"

enum { START, END, THREAD, KIND, ID, PARENT, COMM, FUNCTION, ALGORITHM, PROTOCOL, BYTES, COLUMNS };
static const char *const nccl_sum_column_names[COLUMNS] = { "start",     "end",      "globalTid", "kind",
                                                            "id",        "parentId", "commId",    "function",
                                                            "algorithm", "protocol", "bytes" };

/* An event or a communicator, which each process numbers. */
struct nccl_sum_numbered {
    uint64_t key; /* hash of process and number; never 0 */
    int64_t ranks, bytes, operations, kernel_ns;
};
MAP(numbered_map, struct nccl_sum_numbered, uint64_t, key, key, hash_number, map_is_same_number)

/* The sums of one row. */
struct coll_sum {
    int64_t function, algorithm, protocol; /* string ids; 0: none */
    int64_t count, bytes, enqueue_ns, timed, timed_ns;
    double bus_bytes;                      /* sum over the timed operations */
};

struct coll_report {
    struct report *report;
    struct filter filter;
    struct report_columns ops;
    struct numbered_map comms, groups;
    int64_t *launch_thread, *launch_time, *kernel_ns; /* owned; by launch of an NCCL kernel */
    uint32_t *launches, *order;                       /* owned; launches and operations by thread and time */
    size_t launch_count;
    struct coll_sum *sums;                            /* owned */
    size_t sum_count, sum_room;
};

static uint64_t nccl_sum_key_of(int64_t thread_or_process, int64_t number)
{
    uint64_t key = hash_number((uint64_t)global_process(thread_or_process)) ^ (uint64_t)number;
    return key ?: 1;
}

/* ---- Reading --------------------------------------------------------------------------------------------------- */

static int read_comms(struct coll_report *all, struct error *err)
{
    static const char *const names[] = { "globalPid", "commId", "ranks" };
    struct report_columns comms = { 0 };
    int code = columns_read(all->report, "TACHO_NCCL_COMM", names, 3, &comms, err);

    if (code != 0)
        return code;
    for (size_t row = 0; row < comms.rows; row++) {
        struct nccl_sum_numbered comm = { .key = nccl_sum_key_of(comms.values[0][row], comms.values[1][row]) };
        comm.ranks = columns_is_null(&comms, 2, row) ? 0 : comms.values[2][row];
        if (!numbered_map_add(&all->comms, &comm)) {
            code = ERR_NO_MEMORY;
            goto free_comms;
        }
    }
free_comms:
    report_columns_free(&comms);
    return code;
}

static int is_nccl_kernel(struct report *report, int64_t name)
{
    return communication_of_kernel(report_string(report, name, NULL)) == COMMUNICATION_NCCL;
}

/* The launches of NCCL's kernels, by thread and time. */
static int nccl_sum_read_launches(struct coll_report *all, const struct gpu_ops *kernels, const struct calls *calls)
{
    size_t room = kernels->count + 1;

    all->launch_thread = malloc(room * sizeof *all->launch_thread);
    all->launch_time = malloc(room * sizeof *all->launch_time);
    all->kernel_ns = malloc(room * sizeof *all->kernel_ns);
    all->launches = malloc(room * sizeof *all->launches);
    if (!all->launch_thread || !all->launch_time || !all->kernel_ns || !all->launches || room >= UINT32_MAX)
        return ERR_NO_MEMORY;
    for (size_t row = 0; row < kernels->count; row++) {
        uint32_t call = is_nccl_kernel(all->report, gpu_extra(kernels, 0, row))
                            ? calls_find(calls, kernels->process[row], kernels->correlation[row])
                            : NO_CALL;
        if (call == NO_CALL)
            continue;
        all->launch_thread[all->launch_count] = calls->thread[call];
        all->launch_time[all->launch_count] = calls->start[call];
        all->kernel_ns[all->launch_count] = saturating_duration(kernels->start[row], kernels->end[row]);
        all->launches[all->launch_count] = (uint32_t)all->launch_count;
        all->launch_count++;
    }
    return order_by_thread(all->launches, all->launch_count, all->launch_thread, all->launch_time);
}

static int nccl_sum_read_kernels(struct coll_report *all, struct error *err)
{
    static const char *const extra[] = { "shortName", NULL };
    struct gpu_ops kernels = { 0 };
    struct calls calls = { 0 };
    int code = gpu_read(&kernels, all->report, GPU_KERNEL, extra, err);

    if (code != 0)
        return code;
    if ((code = calls_read(&calls, all->report, err)) == 0) {
        code = nccl_sum_read_launches(all, &kernels, &calls);
        calls_free(&calls);
    }
    gpu_free(&kernels);
    return code;
}

/* ---- Kernels of groups ----------------------------------------------------------------------------------------- */

static int is_kind(const struct coll_report *all, size_t row, const char *kind)
{
    return strcmp(report_string(all->report, all->ops.values[KIND][row], NULL), kind) == 0;
}

/* The position after the launches of earlier threads, and after those of this thread up to the time. */
static size_t first_launch_behind(const struct coll_report *all, size_t from, int64_t thread, int64_t time)
{
    while (from < all->launch_count) {
        uint32_t launch = all->launches[from];
        int64_t its_thread = all->launch_thread[launch];
        if (its_thread > thread || (its_thread == thread && all->launch_time[launch] > time))
            break;
        from++;
    }
    return from;
}

/* Gives each group its kernel: one sweep over the groups and the launches, both by thread and time. */
static int find_kernels(struct coll_report *all)
{
    size_t behind = 0, used = 0;

    for (size_t i = 0; i < all->ops.rows; i++) {
        size_t row = all->order[i];
        if (!is_kind(all, row, "group"))
            continue;
        int64_t thread = all->ops.values[THREAD][row];
        struct nccl_sum_numbered group = { .key = nccl_sum_key_of(thread, all->ops.values[ID][row]), .kernel_ns = -1 };
        behind = first_launch_behind(all, behind, thread, all->ops.values[START][row]);
        if (behind > used && all->launch_thread[all->launches[behind - 1]] == thread)
            group.kernel_ns = all->kernel_ns[all->launches[behind - 1]];
        used = behind;
        if (!numbered_map_add(&all->groups, &group))
            return ERR_NO_MEMORY;
    }
    return 0;
}

static struct nccl_sum_numbered *nccl_sum_group_of(const struct coll_report *all, size_t row)
{
    return columns_is_null(&all->ops, PARENT, row)
               ? NULL
               : numbered_map_find(&all->groups,
                                   nccl_sum_key_of(all->ops.values[THREAD][row], all->ops.values[PARENT][row]));
}

/* ---- Sums ------------------------------------------------------------------------------------------------------ */

/* Bytes on the bus for each byte of a rank, as nccl-tests counts them. */
static double bus_factor(const char *function, int64_t ranks)
{
    double n = (double)ranks;

    if (strcmp(function, "AllReduce") == 0)
        return 2 * (n - 1) / n;
    if (strcmp(function, "AllGather") == 0 || strcmp(function, "ReduceScatter") == 0)
        return n - 1;
    return strcmp(function, "AlltoAll") == 0 ? n - 1 : 1;
}

static int same_text(struct report *report, int64_t a, int64_t b)
{
    return a == b || strcmp(report_string(report, a, NULL), report_string(report, b, NULL)) == 0;
}

static int64_t nccl_sum_string_of(const struct coll_report *all, int column, size_t row)
{
    return columns_is_null(&all->ops, column, row) ? 0 : all->ops.values[column][row];
}

static struct coll_sum *nccl_sum_of(struct coll_report *all, size_t row)
{
    struct coll_sum wanted = { .function = nccl_sum_string_of(all, FUNCTION, row),
                               .algorithm = nccl_sum_string_of(all, ALGORITHM, row),
                               .protocol = nccl_sum_string_of(all, PROTOCOL, row) };

    for (size_t i = 0; i < all->sum_count; i++)
        if (same_text(all->report, all->sums[i].function, wanted.function) &&
            same_text(all->report, all->sums[i].algorithm, wanted.algorithm) &&
            same_text(all->report, all->sums[i].protocol, wanted.protocol))
            return &all->sums[i];
    if (array_reserve(&all->sums, &all->sum_room, all->sum_count + 1, sizeof *all->sums) != 0)
        return NULL;
    all->sums[all->sum_count] = wanted;
    return &all->sums[all->sum_count++];
}

static int64_t nccl_sum_bytes_of(const struct coll_report *all, size_t row)
{
    int64_t bytes = columns_is_null(&all->ops, BYTES, row) ? 0 : all->ops.values[BYTES][row];
    return bytes < 0 ? 0 : bytes;
}

/* The operation's share of the kernel's time. */
static int64_t nccl_sum_share_of(const struct nccl_sum_numbered *group, int64_t bytes)
{
    double share = group->bytes ? (double)bytes / (double)group->bytes : 1.0 / (double)group->operations;
    return share >= 1 ? group->kernel_ns : (int64_t)((double)group->kernel_ns * share);
}

static int nccl_sum_add_operation(struct coll_report *all, size_t row)
{
    struct coll_sum *sum = nccl_sum_of(all, row);
    const struct nccl_sum_numbered *group = nccl_sum_group_of(all, row);
    int64_t bytes = nccl_sum_bytes_of(all, row), *const *values = all->ops.values;

    if (!sum)
        return ERR_NO_MEMORY;
    sum->count++;
    sum->bytes = saturating_add(sum->bytes, bytes);
    if (!columns_is_null(&all->ops, END, row))
        sum->enqueue_ns = saturating_add(sum->enqueue_ns, saturating_duration(values[START][row], values[END][row]));
    if (!group || group->kernel_ns < 0)
        return 0;
    const struct nccl_sum_numbered *comm = columns_is_null(&all->ops, COMM, row)
                                               ? NULL
                                               : numbered_map_find(&all->comms, nccl_sum_key_of(values[THREAD][row],
                                                                                                values[COMM][row]));
    sum->timed++;
    sum->timed_ns = saturating_add(sum->timed_ns, nccl_sum_share_of(group, bytes));
    if (comm && comm->ranks > 0)
        sum->bus_bytes += (double)bytes * bus_factor(report_string(all->report, sum->function, NULL), comm->ranks);
    return 0;
}

/* Calls visit for each operation that the filter passes. */
static int each_operation(struct coll_report *all, int (*visit)(struct coll_report *all, size_t row))
{
    for (size_t row = 0; row < all->ops.rows; row++) {
        int64_t start = all->ops.values[START][row];
        int64_t end = columns_is_null(&all->ops, END, row) ? start : all->ops.values[END][row];
        if (is_kind(all, row, "group") || !filter_thread(&all->filter, all->ops.values[THREAD][row], start, end))
            continue;
        int code = visit(all, row);
        if (code != 0)
            return code;
    }
    return 0;
}

static int nccl_sum_add_to_group(struct coll_report *all, size_t row)
{
    struct nccl_sum_numbered *group = nccl_sum_group_of(all, row);

    if (group) {
        group->operations++;
        group->bytes = saturating_add(group->bytes, nccl_sum_bytes_of(all, row));
    }
    return 0;
}

/* ---- The table ------------------------------------------------------------------------------------------------- */

enum { SHARE, TIME, COUNT, TIMED, AVERAGE, TOTAL_BYTES, AVERAGE_BYTES, BUS, ENQUEUE, NAME, BY, WITH, CELLS };
static const struct table_column nccl_sum_columns[CELLS] = {
    { "Time", CELL_REAL, UNIT_PERCENT, 1 },    { "GPU Time", CELL_INT, UNIT_NS, 0 },
    { "Count", CELL_INT, UNIT_NONE, 0 },       { "With Kernel", CELL_INT, UNIT_NONE, 0 },
    { "Avg GPU Time", CELL_REAL, UNIT_NS, 1 }, { "Total", CELL_REAL, UNIT_MEGABYTES, 3 },
    { "Avg", CELL_REAL, UNIT_MEGABYTES, 3 },   { "Bus (GB/s)", CELL_REAL, UNIT_NONE, 2 },
    { "Enqueue Time", CELL_INT, UNIT_NS, 0 },  { "Function", CELL_TEXT, UNIT_NAME, 0 },
    { "Algorithm", CELL_TEXT, UNIT_NONE, 0 },  { "Protocol", CELL_TEXT, UNIT_NONE, 0 },
};

static int nccl_sum_set_name(struct table *table, struct table_cell *cell, struct report *report, int64_t id)
{
    return id ? cell_set_pooled(table, cell, report, id) : 0;
}

static int nccl_sum_add_row(const struct coll_report *all, struct table *table, const struct coll_sum *sum,
                            int64_t whole_ns)
{
    struct table_cell *cells = table_add_row(table);

    if (!cells)
        return ERR_NO_MEMORY;
    cell_set_int(&cells[COUNT], sum->count);
    cell_set_int(&cells[TIMED], sum->timed);
    cell_set_real(&cells[TOTAL_BYTES], (double)sum->bytes / 1e6);
    cell_set_real(&cells[AVERAGE_BYTES], (double)sum->bytes / 1e6 / (double)sum->count);
    cell_set_int(&cells[ENQUEUE], sum->enqueue_ns);
    if (sum->timed) {
        cell_set_real(&cells[SHARE], whole_ns ? 100 * (double)sum->timed_ns / (double)whole_ns : 0);
        cell_set_int(&cells[TIME], sum->timed_ns);
        cell_set_real(&cells[AVERAGE], (double)sum->timed_ns / (double)sum->timed);
    }
    if (sum->timed_ns && sum->bus_bytes > 0) /* bytes per ns */
        cell_set_real(&cells[BUS], sum->bus_bytes / (double)sum->timed_ns);
    int failed = nccl_sum_set_name(table, &cells[NAME], all->report, sum->function);
    failed |= nccl_sum_set_name(table, &cells[BY], all->report, sum->algorithm);
    failed |= nccl_sum_set_name(table, &cells[WITH], all->report, sum->protocol);
    return failed;
}

static int nccl_sum_fill_table(struct table *table, struct coll_report *all)
{
    int64_t whole_ns = 0;

    if (find_kernels(all) != 0 || each_operation(all, nccl_sum_add_to_group) != 0 ||
        each_operation(all, nccl_sum_add_operation) != 0)
        return ERR_NO_MEMORY;
    for (size_t i = 0; i < all->sum_count; i++)
        whole_ns = saturating_add(whole_ns, all->sums[i].timed_ns);
    for (size_t i = 0; i < all->sum_count; i++)
        if (nccl_sum_add_row(all, table, &all->sums[i], whole_ns) != 0)
            return ERR_NO_MEMORY;
    table_sort_by(table, BY(DOWN(TIME), DOWN(ENQUEUE)));
    return 0;
}

static int nccl_sum_read_operations(struct coll_report *all, struct error *err)
{
    int code = columns_read(all->report, "TACHO_NCCL_OP", nccl_sum_column_names, COLUMNS, &all->ops, err);

    if (code != 0 || !all->ops.rows)
        return code;
    if (all->ops.rows >= UINT32_MAX || !(all->order = malloc((all->ops.rows + 1) * sizeof *all->order)))
        return ERR_NO_MEMORY;
    for (size_t row = 0; row < all->ops.rows; row++)
        all->order[row] = (uint32_t)row;
    return order_by_thread(all->order, all->ops.rows, all->ops.values[THREAD], all->ops.values[START]);
}

static void coll_free(struct coll_report *all)
{
    filter_close(&all->filter);
    report_columns_free(&all->ops);
    numbered_map_free(&all->comms);
    numbered_map_free(&all->groups);
    free(all->launch_thread);
    free(all->launch_time);
    free(all->kernel_ns);
    free(all->launches);
    free(all->order);
    free(all->sums);
}

static int nccl_sum_read_all(struct coll_report *all, struct report *report, const struct analysis_request *request,
                             struct error *err)
{
    int code;

    all->report = report;
    if ((code = filter_open(&all->filter, report, request, err)) != 0 ||
        (code = nccl_sum_read_operations(all, err)) != 0 || (code = read_comms(all, err)) != 0)
        return code;
    return nccl_sum_read_kernels(all, err);
}

REPORT_RUN(nccl_coll_sum, struct coll_report, nccl_sum_columns, nccl_sum_read_all, nccl_sum_fill_table, coll_free)

const struct analysis analysis_nccl_coll_sum = {
    .name = "nccl_coll_sum",
    .title = "NCCL Collective Summary",
    .help = "Operations of NCCL by function, algorithm and protocol, from captures with --nccl-plugin: bytes, the "
            "time of their kernels (with -t cuda), and the bus bandwidth as nccl-tests counts it.",
    .needs = { { "NCCL plugin data", TABLES("TACHO_NCCL_OP") } },
    .run = nccl_coll_sum,
};
