/* cuda_kern_exec_trace: every launch with its kernel: how long the call took, the wait in the queue, and the kernel. */
#include <stdlib.h>

#include "analyze/engine/cell_text.h"
#include "analyze/engine/order.h"
#include "analyze/model/executions.h"
#include "analyze/registry.h"

enum {
    CALL_AT,
    CALL_TIME,
    QUEUE_AT,
    QUEUE_TIME,
    KERNEL_AT,
    KERNEL_TIME,
    TOTAL,
    PID,
    TID,
    DEVICE,
    FUNCTION,
    GRID,
    BLOCK,
    NAME,
    COLUMNS
};
static const struct table_column kern_exec_trace_columns[COLUMNS] = {
    { "API Start", CELL_INT, UNIT_TIME, 0 },
    { "API Dur", CELL_INT, UNIT_NS, 0 },
    { "Queue Start", CELL_INT, UNIT_TIME, 0 },
    { "Queue Dur", CELL_INT, UNIT_NS, 0 },
    { "Kernel Start", CELL_INT, UNIT_TIME, 0 },
    { "Kernel Dur", CELL_INT, UNIT_NS, 0 },
    { "Total Dur", CELL_INT, UNIT_NS, 0 },
    { "PID", CELL_INT, UNIT_ID, 0 },
    { "TID", CELL_INT, UNIT_ID, 0 },
    { "DevId", CELL_INT, UNIT_ID, 0 },
    { "API Function", CELL_TEXT, UNIT_NONE, 0 },
    { "GridXYZ", CELL_TEXT, UNIT_NONE, 0 },
    { "BlockXYZ", CELL_TEXT, UNIT_NONE, 0 },
    { "Kernel Name", CELL_TEXT, UNIT_NAME, 0 },
};

static int set_dimensions(const struct executions *executions, struct table *table, struct table_cell *cell,
                          struct text *text, size_t first, size_t row)
{
    const struct gpu_ops *kernels = &executions->kernels;

    dimensions_label(text, gpu_extra(kernels, first, row), gpu_extra(kernels, first + 1, row),
                     gpu_extra(kernels, first + 2, row));
    return cell_set_built(table, cell, text);
}

static int kern_exec_trace_add_row(const struct executions *executions, struct table *table, struct text *text,
                                   const struct execution *execution)
{
    const struct calls *calls = &executions->calls;
    const struct gpu_ops *kernels = &executions->kernels;
    uint32_t call = execution->call, kernel = execution->kernel;
    struct table_cell *row = table_add_row(table);
    size_t length;

    if (!row)
        return ERR_NO_MEMORY;
    cell_set_int(&row[CALL_AT], calls->start[call]);
    cell_set_int(&row[CALL_TIME], saturating_duration(calls->start[call], calls->end[call]));
    int64_t queue_ns = execution_queue_ns(executions, execution);
    if (queue_ns > 0) {
        cell_set_int(&row[QUEUE_AT], calls->end[call]);
        cell_set_int(&row[QUEUE_TIME], queue_ns);
    }
    cell_set_int(&row[KERNEL_AT], kernels->start[kernel]);
    cell_set_int(&row[KERNEL_TIME], saturating_duration(kernels->start[kernel], kernels->end[kernel]));
    cell_set_int(&row[TOTAL], execution_total_ns(executions, execution));
    cell_set_int(&row[PID], global_pid_number(calls->thread[call]));
    cell_set_int(&row[TID], global_tid_number(calls->thread[call]));
    cell_set_int(&row[DEVICE], kernels->device[kernel]);
    const char *name = report_string(executions->report, calls->name[call], &length);
    if (cell_set_text(table, &row[FUNCTION], name, call_name_length(name, length)) != 0 ||
        set_dimensions(executions, table, &row[GRID], text, EXEC_GRID, kernel) != 0 ||
        set_dimensions(executions, table, &row[BLOCK], text, EXEC_BLOCK, kernel) != 0)
        return ERR_NO_MEMORY;
    launch_kernel_label(text, executions->report, &executions->ranges, execution_range(executions, execution),
                        execution_kernel_name(executions, execution));
    return cell_set_built(table, &row[NAME], text);
}

/* By the start of the call, then of the kernel. */
static int kern_exec_trace_sort(const struct executions *executions, uint32_t *order, int64_t *times)
{
    for (size_t i = 0; i < executions->count; i++) {
        order[i] = (uint32_t)i;
        times[i] = executions->kernels.start[executions->list[i].kernel];
    }
    if (order_by_time(order, executions->count, times) != 0)
        return ERR_NO_MEMORY;
    for (size_t i = 0; i < executions->count; i++)
        times[i] = executions->calls.start[executions->list[i].call];
    return order_by_time(order, executions->count, times);
}

static int kern_exec_trace_fill_table(const struct executions *executions, struct table *table)
{
    uint32_t *order = malloc((executions->count + 1) * sizeof *order);
    int64_t *times = malloc((executions->count + 1) * sizeof *times);
    struct text text = { 0 };
    int code = ERR_NO_MEMORY;

    if (!order || !times || executions->count >= UINT32_MAX)
        goto done;
    if ((code = kern_exec_trace_sort(executions, order, times)) != 0)
        goto done;
    for (size_t i = 0; i < executions->count; i++)
        if ((code = kern_exec_trace_add_row(executions, table, &text, &executions->list[order[i]])) != 0)
            goto done;
done:
    text_free(&text);
    free(order);
    free(times);
    return code;
}

static int cuda_kern_exec_trace(struct report *report, const struct analysis_request *request, struct table **out,
                                struct error *err)
{
    struct executions executions = { 0 };
    struct table *table = table_new(kern_exec_trace_columns, COLUMNS);
    int code = executions_read(&executions, report, request, 1, err);

    if (code != 0)
        goto done;
    code = table ? kern_exec_trace_fill_table(&executions, table) : ERR_NO_MEMORY;
done:
    executions_free(&executions);
    return table_hand_over(table, code, out, err);
}

const struct analysis analysis_cuda_kern_exec_trace = {
    .name = "cuda_kern_exec_trace",
    .title = "CUDA Kernel Launch & Exec Time Trace",
    .usage = "[:nvtx-name][:base|:mangled]",
    .help =
        "All kernels with the API call that launched them. The queue time is from the end of the call to the start of "
        "the kernel, if positive. The total time is from the start of the call to the end of the later of the two.",
    .needs = { { "CUDA kernel data", gpu_kernel_tables }, { "CUDA trace data", gpu_call_tables } },
    .run = cuda_kern_exec_trace,
};
