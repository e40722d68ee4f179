/* cuda_api_trace and vulkan_api_trace: every call in order of its start, with the thread that made it. */
#include <stdlib.h>

#include "analyze/engine/cell_text.h"
#include "analyze/engine/first_rows.h"
#include "analyze/engine/order.h"
#include "analyze/model/calls.h"
#include "analyze/model/filter.h"
#include "analyze/model/gpu.h"
#include "analyze/model/threads.h"
#include "analyze/registry.h"

enum { START, END, THREAD, CORRELATION, NAME, RESULT, CLASS, CONTEXT, COLUMNS };
static const char *const api_trace_column_names[COLUMNS] = {
    "start", "end", "globalTid", "correlationId", "nameId", "returnValue", "eventClass", "contextId",
};

struct api_trace {
    struct report *report;
    struct report_columns columns;
    struct thread_names threads;
    struct filter filter;
    uint32_t *order; /* owned; the rows that pass the filter, in order of time */
    size_t count;
    uint64_t total;  /* number of rows that pass if only the first were read */
};

static int sort_calls(struct api_trace *trace)
{
    int64_t *const *values = trace->columns.values;

    trace->order = malloc((trace->columns.rows + 1) * sizeof *trace->order);
    if (!trace->order)
        return ERR_NO_MEMORY;
    for (size_t row = 0; row < trace->columns.rows; row++)
        if (filter_thread(&trace->filter, values[THREAD][row], values[START][row], values[END][row]))
            trace->order[trace->count++] = (uint32_t)row;
    return order_by_time(trace->order, trace->count, values[START]);
}

static int api_trace_passes(const void *context, const struct report_block *block, size_t row)
{
    return filter_thread(context, block_is_null(block, THREAD, row) ? 0 : block->values[THREAD][row],
                         block->values[START][row], block->values[END][row]);
}

/* Reads only the first rows: a page shows no more of a trace of millions. */
static int api_trace_read_first(struct api_trace *trace, const struct report_table *table, size_t most,
                                struct error *err)
{
    int is_all = !trace->filter.span && !trace->filter.only.only, wanted[COLUMNS];
    struct first_rows_wish wish = { wanted, is_all ? 1 : THREAD + 1, most, is_all ? NULL : api_trace_passes,
                                    &trace->filter };
    struct first_rows first;

    for (size_t i = 0; i < COLUMNS; i++)
        wanted[i] = report_column(table, api_trace_column_names[i]);
    int code = first_rows_find(&first, trace->report, table, &wish, err);
    if (code != 0)
        return code;
    trace->total = first.total;
    code = first_rows_read(&first, trace->report, table, wanted, COLUMNS, &trace->columns, err);
    first_rows_free(&first);
    return code;
}

static int api_trace_read_calls(struct api_trace *trace, const struct report_table *table, size_t most,
                                struct error *err)
{
    int code = most ? api_trace_read_first(trace, table, most, err) : ERR_CORRUPT;

    if (code != ERR_CORRUPT)
        return code;
    trace->total = 0;
    return columns_read(trace->report, table->name, api_trace_column_names, COLUMNS, &trace->columns, err);
}

static int open_trace(struct api_trace *trace, struct report *report, const struct analysis_request *request,
                      const char *name, struct error *err)
{
    const struct report_table *table = report_table(report, name);
    int code;

    trace->report = report;
    if (table->rows >= UINT32_MAX)
        return error_set(err, ERR_UNSUPPORTED, "the table %s has too many rows to sort", table->name);
    if ((code = filter_open(&trace->filter, report, request, err)) != 0)
        return code;
    if ((code = api_trace_read_calls(trace, table, request->first_rows, err)) != 0)
        return code;
    if ((code = thread_names_read(&trace->threads, report, err)) != 0)
        return code;
    columns_fill_nulls(&trace->columns, THREAD, 0);
    return sort_calls(trace) == 0 ? 0 : error_short_memory(err, "to sort the calls");
}

static void close_trace(struct api_trace *trace)
{
    filter_close(&trace->filter);
    thread_names_free(&trace->threads);
    report_columns_free(&trace->columns);
    free(trace->order);
}

static void api_trace_set_number(const struct api_trace *trace, struct table_cell *cell, int column, size_t row)
{
    if (!columns_is_null(&trace->columns, (size_t)column, row))
        cell_set_int(cell, trace->columns.values[column][row]);
}

/* Process, thread, priority and name of the thread. */
static int set_thread(const struct api_trace *trace, struct table *table, struct table_cell *cells, size_t row)
{
    int64_t id = trace->columns.values[THREAD][row];
    const struct thread_name *thread = thread_name_find(&trace->threads, id);

    cell_set_int(&cells[0], global_pid_number(id));
    cell_set_int(&cells[1], global_tid_number(id));
    if (!thread)
        return 0;
    if (thread->has_priority)
        cell_set_int(&cells[2], thread->priority);
    return cell_set_pooled(table, &cells[3], trace->report, thread->name);
}

static int api_trace_set_name(const struct api_trace *trace, struct table *table, struct table_cell *cell, size_t row)
{
    size_t length;
    const char *name = report_string(trace->report, trace->columns.values[NAME][row], &length);

    return cell_set_text(table, cell, name, call_name_length(name, length));
}

static void api_trace_set_times(const struct api_trace *trace, struct table_cell *cells, size_t row)
{
    int64_t start = trace->columns.values[START][row];

    cell_set_int(&cells[0], start);
    cell_set_int(&cells[1], saturating_duration(start, trace->columns.values[END][row]));
}

static int add_cuda_row(const struct api_trace *trace, struct table *table, struct table_cell *cells, size_t row)
{
    api_trace_set_times(trace, cells, row);
    api_trace_set_number(trace, &cells[3], RESULT, row);
    api_trace_set_number(trace, &cells[4], CORRELATION, row);
    return api_trace_set_name(trace, table, &cells[2], row) != 0 ? ERR_NO_MEMORY
                                                                 : set_thread(trace, table, &cells[5], row);
}

static int add_vulkan_row(const struct api_trace *trace, struct table *table, struct table_cell *cells, size_t row)
{
    api_trace_set_times(trace, cells, row);
    api_trace_set_number(trace, &cells[3], CLASS, row);
    api_trace_set_number(trace, &cells[4], CONTEXT, row);
    api_trace_set_number(trace, &cells[5], CORRELATION, row);
    return api_trace_set_name(trace, table, &cells[2], row) != 0 ? ERR_NO_MEMORY
                                                                 : set_thread(trace, table, &cells[6], row);
}

struct api_trace_layout {
    const char *table;
    const struct table_column *columns;
    size_t column_count;
    int (*add_row)(const struct api_trace *trace, struct table *table, struct table_cell *cells, size_t row);
};

static int api_trace_fill_table(const struct api_trace *trace, struct table *table,
                                const struct api_trace_layout *layout)
{
    for (size_t i = 0; i < trace->count; i++) {
        struct table_cell *cells = table_add_row(table);
        if (!cells || layout->add_row(trace, table, cells, trace->order[i]) != 0)
            return ERR_NO_MEMORY;
    }
    table_set_total(table, (size_t)trace->total);
    return 0;
}

static int api_trace_run(struct report *report, const struct analysis_request *request,
                         const struct api_trace_layout *layout, struct table **out, struct error *err)
{
    struct api_trace trace = { 0 };
    struct table *table = table_new(layout->columns, layout->column_count);
    int code = open_trace(&trace, report, request, layout->table, err);

    if (code != 0)
        goto done;
    code = table ? api_trace_fill_table(&trace, table, layout) : ERR_NO_MEMORY;
done:
    close_trace(&trace);
    return table_hand_over(table, code, out, err);
}

static int cuda_api_trace(struct report *report, const struct analysis_request *request, struct table **out,
                          struct error *err)
{
    static const struct table_column columns[] = {
        { "Start", CELL_INT, UNIT_TIME, 0 },
        { "Duration", CELL_INT, UNIT_NS, 0 },
        { "Name", CELL_TEXT, UNIT_NAME, 0 },
        { "Result", CELL_INT, UNIT_ID, 0 },
        { "CorrID", CELL_INT, UNIT_ID, 0 },
        { "Pid", CELL_INT, UNIT_ID, 0 },
        { "Tid", CELL_INT, UNIT_ID, 0 },
        { "T-Pri", CELL_INT, UNIT_ID, 0 },
        { "Thread Name", CELL_TEXT, UNIT_NONE, 0 },
    };
    static const struct api_trace_layout layout = { "CUPTI_ACTIVITY_KIND_RUNTIME", columns, COUNT_OF(columns),
                                                    add_cuda_row };

    return api_trace_run(report, request, &layout, out, err);
}

static int vulkan_api_trace(struct report *report, const struct analysis_request *request, struct table **out,
                            struct error *err)
{
    static const struct table_column columns[] = {
        { "Start", CELL_INT, UNIT_TIME, 0 }, { "Duration", CELL_INT, UNIT_NS, 0 },
        { "Name", CELL_TEXT, UNIT_NAME, 0 }, { "Event Class", CELL_INT, UNIT_ID, 0 },
        { "Context", CELL_INT, UNIT_ID, 0 }, { "CorrID", CELL_INT, UNIT_ID, 0 },
        { "Pid", CELL_INT, UNIT_ID, 0 },     { "Tid", CELL_INT, UNIT_ID, 0 },
        { "T-Pri", CELL_INT, UNIT_ID, 0 },   { "Thread Name", CELL_TEXT, UNIT_NONE, 0 },
    };
    static const struct api_trace_layout layout = { "VULKAN_API", columns, COUNT_OF(columns), add_vulkan_row };

    return api_trace_run(report, request, &layout, out, err);
}

const struct analysis analysis_cuda_api_trace = {
    .name = "cuda_api_trace",
    .title = "CUDA API Trace",
    .help = "All CUDA API calls by start time, with the result, the thread, and the correlation ID that links a call "
            "to its GPU work.",
    .needs = { { "CUDA trace data", gpu_call_tables } },
    .run = cuda_api_trace,
};

const struct analysis analysis_vulkan_api_trace = {
    .name = "vulkan_api_trace",
    .title = "Vulkan API Trace",
    .help = "All Vulkan API calls by start time.",
    .needs = { { "Vulkan API data", TABLES("VULKAN_API") } },
    .run = vulkan_api_trace,
};
