/* cuda_gpu_trace: every kernel, copy and fill in order of its start, with its launch configuration or its bytes. */
#include <stdlib.h>

#include "analyze/engine/cell_text.h"
#include "analyze/engine/order.h"
#include "analyze/engine/report_options.h"
#include "analyze/engine/report_run.h"
#include "analyze/model/launches.h"
#include "analyze/registry.h"

/* Extra columns of the tables. The first ones are the same in all three. */
enum { CONTEXT, GREEN_CONTEXT, SHARED };
enum { NAME = SHARED, FULL_NAME, REGISTERS, GRID_X, GRID_Y, GRID_Z, BLOCK_X, BLOCK_Y, BLOCK_Z, STATIC, DYNAMIC };
enum { COPY_BYTES = SHARED, COPY_KIND, SOURCE_KIND, TARGET_KIND };
enum { FILL_BYTES = SHARED, FILL_KIND };

/* The name of a GPU under the number that a process gives it; ANY_PROCESS where the file does not name the process. */
enum { ANY_PROCESS = -1 };
struct device_name {
    int64_t pid, id;
    int64_t name; /* a string id, or -1 */
};

struct gpu_trace {
    struct report *report;
    struct gpu_ops ops[GPU_KINDS];
    struct filter filter;
    struct launch_ranges ranges;
    struct device_name *devices; /* owned */
    size_t device_count;
    struct device_name last;     /* the last lookup */
    int64_t *starts;             /* owned, as is order; start times of all three tables, one after another */
    uint32_t *order;
    size_t count;
    size_t most;                 /* rows that are wanted; 0: all */
    uint64_t total;              /* all rows, if only some were read */
    struct text text;
};

enum {
    CELL_START,
    CELL_DURATION,
    CELL_CORRELATION,
    CELL_GRID,
    CELL_BLOCK = CELL_GRID + 3,
    CELL_REGISTERS = CELL_BLOCK + 3,
    CELL_STATIC,
    CELL_DYNAMIC,
    CELL_BYTES,
    CELL_THROUGHPUT,
    CELL_SOURCE,
    CELL_TARGET,
    CELL_DEVICE,
    CELL_CONTEXT,
    CELL_GREEN,
    CELL_STREAM,
    CELL_NAME,
    CELLS
};
static const struct table_column gpu_trace_columns[CELLS] = {
    { "Start", CELL_INT, UNIT_TIME, 0 },
    { "Duration", CELL_INT, UNIT_NS, 0 },
    { "CorrId", CELL_INT, UNIT_ID, 0 },
    { "GrdX", CELL_INT, UNIT_ID, 0 },
    { "GrdY", CELL_INT, UNIT_ID, 0 },
    { "GrdZ", CELL_INT, UNIT_ID, 0 },
    { "BlkX", CELL_INT, UNIT_ID, 0 },
    { "BlkY", CELL_INT, UNIT_ID, 0 },
    { "BlkZ", CELL_INT, UNIT_ID, 0 },
    { "Reg/Trd", CELL_INT, UNIT_ID, 0 },
    { "StcSMem", CELL_REAL, UNIT_MEGABYTES, 3 },
    { "DymSMem", CELL_REAL, UNIT_MEGABYTES, 3 },
    { "Bytes", CELL_REAL, UNIT_MEGABYTES, 3 },
    { "Throughput (MB/s)", CELL_REAL, UNIT_NONE, 3 },
    { "SrcMemKd", CELL_TEXT, UNIT_NONE, 0 },
    { "DstMemKd", CELL_TEXT, UNIT_NONE, 0 },
    { "Device", CELL_TEXT, UNIT_NONE, 0 },
    { "Ctx", CELL_INT, UNIT_ID, 0 },
    { "GreenCtx", CELL_INT, UNIT_ID, 0 },
    { "Strm", CELL_INT, UNIT_ID, 0 },
    { "Name", CELL_TEXT, UNIT_NAME, 0 },
};

static int64_t gpu_trace_name(const struct report_columns *gpus, int64_t id)
{
    for (size_t row = 0; row < gpus->rows; row++)
        if (gpus->values[0][row] == id)
            return gpus->values[1][row];
    return -1;
}

static int read_devices(struct gpu_trace *trace, struct error *err)
{
    static const char *const gpu_columns[] = { "id", "name" };
    static const char *const device_columns[] = { "gpuId", "cudaId", "pid" };
    struct report_columns gpus = { 0 }, devices = { 0 };
    int code;

    if ((code = columns_read(trace->report, "TARGET_INFO_GPU", gpu_columns, 2, &gpus, err)) != 0)
        goto done;
    if ((code = columns_read(trace->report, "TARGET_INFO_CUDA_DEVICE", device_columns, 3, &devices, err)) != 0)
        goto done;
    if (!(trace->devices = malloc((devices.rows + gpus.rows + 1) * sizeof *trace->devices)) &&
        (code = error_no_memory(err)) != 0)
        goto done;
    for (size_t row = 0; row < devices.rows; row++)
        trace->devices[trace->device_count++] = (struct device_name){ devices.values[2][row], devices.values[1][row],
                                                                      gpu_trace_name(&gpus, devices.values[0][row]) };
    for (size_t row = 0; row < gpus.rows; row++)
        trace->devices[trace->device_count++] = (struct device_name){ ANY_PROCESS, gpus.values[0][row],
                                                                      gpus.values[1][row] };
done:
    report_columns_free(&gpus);
    report_columns_free(&devices);
    return code;
}

/* "NVIDIA H200 (0)": the process's own number for it. */
static int gpu_trace_set_device(struct gpu_trace *trace, struct table *table, struct table_cell *cell, int64_t process,
                                int64_t id)
{
    int64_t pid = global_pid_number(process);

    if (trace->last.pid != pid || trace->last.id != id)
        trace->last = (struct device_name){ pid, id, -1 };
    for (size_t i = 0; i < trace->device_count && trace->last.name < 0; i++)
        if (trace->devices[i].id == id && (trace->devices[i].pid == pid || trace->devices[i].pid == ANY_PROCESS))
            trace->last.name = trace->devices[i].name;
    text_clear(&trace->text);
    if (trace->last.name >= 0)
        text_addf(&trace->text, "%s ", report_string(trace->report, trace->last.name, NULL));
    text_addf(&trace->text, "(%lld)", (long long)id);
    return cell_set_built(table, cell, &trace->text);
}

static void set_megabytes(struct table_cell *cell, int64_t bytes)
{
    cell_set_real(cell, (double)bytes / 1e6);
}

static void set_bytes(struct table_cell *cells, const struct gpu_ops *ops, size_t row, int64_t bytes)
{
    int64_t duration = saturating_duration(ops->start[row], ops->end[row]);

    set_megabytes(&cells[CELL_BYTES], bytes);
    if (duration > 0) /* the bytes times the whole number of durations in a second: nsys's figure to the digit */
        cell_set_real(&cells[CELL_THROUGHPUT], (double)bytes * (double)(1000000000 / duration) / 1e6);
}

static int set_memory_kind(struct table *table, struct table_cell *cell, const struct gpu_ops *ops, size_t column,
                           size_t row)
{
    const char *name = gpu_extra_is_null(ops, column, row) ? NULL : memory_kind_name(gpu_extra(ops, column, row));

    return name ? cell_set_string(table, cell, name) : 0;
}

static int gpu_trace_set_kernel(struct gpu_trace *trace, struct table *table, struct table_cell *cells, size_t row)
{
    const struct gpu_ops *ops = &trace->ops[GPU_KERNEL];
    uint32_t label = row < trace->ranges.count ? trace->ranges.by_row[row] : NO_KEY;

    for (size_t i = 0; i < 6; i++)
        cell_set_int(&cells[CELL_GRID + i], gpu_extra(ops, GRID_X + i, row));
    cell_set_int(&cells[CELL_REGISTERS], gpu_extra(ops, REGISTERS, row));
    set_megabytes(&cells[CELL_STATIC], gpu_extra(ops, STATIC, row));
    set_megabytes(&cells[CELL_DYNAMIC], gpu_extra(ops, DYNAMIC, row));
    launch_kernel_label(&trace->text, trace->report, &trace->ranges, label,
                        gpu_extra(ops, gpu_extra_is_null(ops, NAME, row) ? FULL_NAME : NAME, row));
    return cell_set_built(table, &cells[CELL_NAME], &trace->text);
}

static int set_copy(struct gpu_trace *trace, struct table *table, struct table_cell *cells, size_t row)
{
    const struct gpu_ops *ops = &trace->ops[GPU_MEMCPY];

    set_bytes(cells, ops, row, gpu_extra(ops, COPY_BYTES, row));
    if (set_memory_kind(table, &cells[CELL_SOURCE], ops, SOURCE_KIND, row) != 0 ||
        set_memory_kind(table, &cells[CELL_TARGET], ops, TARGET_KIND, row) != 0)
        return ERR_NO_MEMORY;
    memcpy_label(&trace->text, gpu_extra(ops, COPY_KIND, row));
    return cell_set_built(table, &cells[CELL_NAME], &trace->text);
}

static int set_fill(struct gpu_trace *trace, struct table *table, struct table_cell *cells, size_t row)
{
    const struct gpu_ops *ops = &trace->ops[GPU_MEMSET];

    set_bytes(cells, ops, row, gpu_extra(ops, FILL_BYTES, row));
    if (set_memory_kind(table, &cells[CELL_SOURCE], ops, FILL_KIND, row) != 0)
        return ERR_NO_MEMORY;
    return cell_set_string(table, &cells[CELL_NAME], MEMSET_LABEL);
}

static void set_unless_0(struct table_cell *cell, int64_t id)
{
    if (id)
        cell_set_int(cell, id);
}

static int gpu_trace_add_row(struct gpu_trace *trace, struct table *table, enum gpu_kind kind, size_t row)
{
    static int (*const setters[GPU_KINDS])(struct gpu_trace *, struct table *, struct table_cell *, size_t) = {
        [GPU_KERNEL] = gpu_trace_set_kernel,
        [GPU_MEMCPY] = set_copy,
        [GPU_MEMSET] = set_fill,
    };
    const struct gpu_ops *ops = &trace->ops[kind];
    struct table_cell *cells = table_add_row(table);

    if (!cells)
        return ERR_NO_MEMORY;
    cell_set_int(&cells[CELL_START], ops->start[row]);
    cell_set_int(&cells[CELL_DURATION], saturating_duration(ops->start[row], ops->end[row]));
    if (ops->correlation[row] != NO_CORRELATION)
        cell_set_int(&cells[CELL_CORRELATION], ops->correlation[row]);
    /* 0 is none: migrations of managed memory are in no context and no stream. */
    set_unless_0(&cells[CELL_CONTEXT], gpu_extra(ops, CONTEXT, row));
    set_unless_0(&cells[CELL_STREAM], ops->stream[row]);
    set_unless_0(&cells[CELL_GREEN],
                 gpu_extra_is_null(ops, GREEN_CONTEXT, row) ? 0 : gpu_extra(ops, GREEN_CONTEXT, row));
    if (gpu_trace_set_device(trace, table, &cells[CELL_DEVICE], ops->process[row], ops->device[row]) != 0)
        return ERR_NO_MEMORY;
    return setters[kind](trace, table, cells, row);
}

/* Reads all work, or only the first of each kind: a page shows no more of a trace of millions. */
static int gpu_trace_read_first(struct gpu_trace *trace, const char *const *const *extra, struct error *err)
{
    int code;

    for (int kind = 0; kind < GPU_KINDS; kind++)
        if ((code = gpu_read_first(&trace->ops[kind], trace->report, (enum gpu_kind)kind, extra[kind], &trace->filter,
                                   trace->most, &trace->total, err)) != 0)
            return code;
    return 0;
}

static int gpu_trace_read_work(struct gpu_trace *trace, const char *const *const *extra, struct error *err)
{
    int code = trace->most ? gpu_trace_read_first(trace, extra, err) : ERR_CORRUPT;

    if (code != ERR_CORRUPT)
        return code;
    trace->total = 0;
    for (int kind = 0; kind < GPU_KINDS; kind++) {
        gpu_free(&trace->ops[kind]);
        if ((code = gpu_read(&trace->ops[kind], trace->report, (enum gpu_kind)kind, extra[kind], err)) != 0)
            return code;
    }
    return 0;
}

static int gpu_trace_read_tables(struct gpu_trace *trace, struct report *report, const struct analysis_request *request,
                                 struct error *err)
{
    const char *kernel[] = {
        "contextId",
        "greenContextId",
        kernel_name_column(request),
        "demangledName",
        "registersPerThread",
        "gridX",
        "gridY",
        "gridZ",
        "blockX",
        "blockY",
        "blockZ",
        "staticSharedMemory",
        "dynamicSharedMemory",
        NULL,
    };
    static const char *const copy[] = {
        "contextId", "greenContextId", "bytes", "copyKind", "srcKind", "dstKind", NULL
    };
    static const char *const fill[] = { "contextId", "greenContextId", "bytes", "memKind", NULL };
    const char *const *extra[GPU_KINDS] = { [GPU_KERNEL] = kernel, [GPU_MEMCPY] = copy, [GPU_MEMSET] = fill };
    int code;

    *trace = (struct gpu_trace){ .report = report, .last.name = -1 };
    code = filter_open(&trace->filter, report, request, err);
    trace->most = option_given(request, "nvtx-name") ? 0 : request->first_rows; /* ranges refer to rows of all work */
    if (code != 0 || (code = gpu_trace_read_work(trace, extra, err)) != 0)
        return code;
    if (option_given(request, "nvtx-name") && (code = launch_ranges_read(&trace->ranges, trace->report, err)) != 0)
        return code;
    return read_devices(trace, err);
}

/* Rows of all three tables in one numbering: kernels first, then copies, then fills. */
static int gpu_trace_sort_rows(struct gpu_trace *trace)
{
    size_t total = 0;

    for (int kind = 0; kind < GPU_KINDS; kind++)
        total += trace->ops[kind].count;
    if (total >= UINT32_MAX)
        return ERR_NO_MEMORY;
    trace->starts = malloc((total + 1) * sizeof *trace->starts);
    trace->order = malloc((total + 1) * sizeof *trace->order);
    if (!trace->starts || !trace->order)
        return ERR_NO_MEMORY;
    total = 0;
    for (int kind = 0; kind < GPU_KINDS; kind++)
        for (size_t row = 0; row < trace->ops[kind].count; row++, total++) {
            trace->starts[total] = trace->ops[kind].start[row];
            if (gpu_counts(&trace->ops[kind], row, &trace->filter))
                trace->order[trace->count++] = (uint32_t)total;
        }
    return order_by_time(trace->order, trace->count, trace->starts);
}

static int gpu_trace_fill_table(struct table *table, struct gpu_trace *trace)
{
    if (gpu_trace_sort_rows(trace) != 0)
        return ERR_NO_MEMORY;
    trace->total = trace->total ? trace->total : trace->count;
    if (trace->most && trace->count > trace->most)
        trace->count = trace->most;
    for (size_t i = 0; i < trace->count; i++) {
        size_t row = trace->order[i];
        int kind = 0;
        for (; row >= trace->ops[kind].count; kind++)
            row -= trace->ops[kind].count;
        if (gpu_trace_add_row(trace, table, (enum gpu_kind)kind, row) != 0)
            return ERR_NO_MEMORY;
    }
    table_set_total(table, (size_t)trace->total);
    return 0;
}

static void gpu_trace_free(struct gpu_trace *trace)
{
    for (int kind = 0; kind < GPU_KINDS; kind++)
        gpu_free(&trace->ops[kind]);
    filter_close(&trace->filter);
    launch_ranges_free(&trace->ranges);
    free(trace->devices);
    free(trace->starts);
    free(trace->order);
    text_free(&trace->text);
}

REPORT_RUN(cuda_gpu_trace, struct gpu_trace, gpu_trace_columns, gpu_trace_read_tables, gpu_trace_fill_table,
           gpu_trace_free)

const struct analysis analysis_cuda_gpu_trace = {
    .name = "cuda_gpu_trace",
    .title = "CUDA GPU Trace",
    .usage = "[:nvtx-name][:base|:mangled]",
    .help = "All kernels, copies and fills on the GPU by start time, with launch configuration, bytes, throughput, "
            "device, context and stream.",
    .needs = { { "CUDA trace data", gpu_tables } },
    .run = cuda_gpu_trace,
};
