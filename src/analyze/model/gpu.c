/* Kernels, copies and fills. */
#include "gpu.h"

#include "analyze/engine/first_rows.h"
#include "analyze/engine/report_options.h"

#define KERNEL "CUPTI_ACTIVITY_KIND_KERNEL"
#define MEMCPY "CUPTI_ACTIVITY_KIND_MEMCPY"
#define MEMSET "CUPTI_ACTIVITY_KIND_MEMSET"
const char *const gpu_tables[GPU_KINDS + 1] = { KERNEL, MEMCPY, MEMSET, NULL };
const char *const gpu_memory_tables[] = { MEMCPY, MEMSET, NULL };
const char *const gpu_kernel_tables[] = { KERNEL, NULL };
const char *const gpu_call_tables[] = { "CUPTI_ACTIVITY_KIND_RUNTIME", NULL };

const char *kernel_name_column(const struct analysis_request *request)
{
    if (option_given(request, "base"))
        return "shortName";
    return option_given(request, "mangled") ? "mangledName" : "demangledName";
}

int gpu_read(struct gpu_ops *ops, struct report *report, enum gpu_kind kind, const char *const *extra,
             struct error *err)
{
    return gpu_read_table(ops, report, gpu_tables[kind], extra, err);
}

static size_t gpu_model_find_columns(const struct report_table *table, const char *const *extra, int *wanted)
{
    static const char *const names[OP_COLUMNS] = {
        "start", "end", "globalPid", "correlationId", "deviceId", "streamId"
    };
    size_t count = 0;

    for (; count < OP_COLUMNS; count++)
        wanted[count] = report_column(table, names[count]);
    for (; extra && *extra && count < GPU_MOST_COLUMNS; extra++)
        wanted[count++] = report_column(table, *extra);
    return count;
}

static void use_columns(struct gpu_ops *ops)
{
    columns_fill_nulls(&ops->columns, OP_CORRELATION, NO_CORRELATION);
    columns_fill_nulls(&ops->columns, OP_PROCESS, 0);
    ops->count = ops->columns.rows;
    ops->start = ops->columns.values[OP_START];
    ops->end = ops->columns.values[OP_END];
    ops->process = ops->columns.values[OP_PROCESS];
    ops->correlation = ops->columns.values[OP_CORRELATION];
    ops->device = ops->columns.values[OP_DEVICE];
    ops->stream = ops->columns.values[OP_STREAM];
}

int gpu_read_table(struct gpu_ops *ops, struct report *report, const char *name, const char *const *extra,
                   struct error *err)
{
    const struct report_table *table = report_table(report, name);
    int wanted[GPU_MOST_COLUMNS];

    *ops = (struct gpu_ops){ 0 };
    if (!table || !table->rows)
        return 0;
    if (table->rows >= UINT32_MAX)
        return error_set(err, ERR_UNSUPPORTED, "the table %s has too many rows to join", table->name);
    int code = report_read(report, table, wanted, gpu_model_find_columns(table, extra, wanted), &ops->columns, err);
    if (code != 0)
        return code;
    use_columns(ops);
    return 0;
}

static int gpu_model_passes(const void *context, const struct report_block *block, size_t row)
{
    struct filter_gpu_work work = {
        block->values[OP_START][row],
        block->values[OP_END][row],
        block_is_null(block, OP_PROCESS, row) ? 0 : block->values[OP_PROCESS][row],
        block_is_null(block, OP_CORRELATION, row) ? NO_CORRELATION : block->values[OP_CORRELATION][row],
        block->values[OP_DEVICE][row],
        block->values[OP_STREAM][row],
    };

    return filter_gpu(context, &work);
}

int gpu_read_first(struct gpu_ops *ops, struct report *report, enum gpu_kind kind, const char *const *extra,
                   const struct filter *filter, size_t most, uint64_t *total, struct error *err)
{
    const struct report_table *table = report_table(report, gpu_tables[kind]);
    int is_all = !filter->span && !filter->only.only, wanted[GPU_MOST_COLUMNS];
    struct first_rows first = { 0 };

    *ops = (struct gpu_ops){ 0 };
    if (!table || !table->rows)
        return 0;
    size_t count = gpu_model_find_columns(table, extra, wanted);
    struct first_rows_wish wish = { wanted, is_all ? 1 : OP_COLUMNS, most, is_all ? NULL : gpu_model_passes, filter };
    int code = first_rows_find(&first, report, table, &wish, err);
    if (code != 0)
        return code;
    *total += first.total;
    code = first_rows_read(&first, report, table, wanted, count, &ops->columns, err);
    first_rows_free(&first);
    if (code != 0)
        return code;
    use_columns(ops);
    return 0;
}

void gpu_free(struct gpu_ops *ops)
{
    report_columns_free(&ops->columns);
    *ops = (struct gpu_ops){ 0 };
}

int gpu_extra_is_null(const struct gpu_ops *ops, size_t c, size_t row)
{
    return columns_is_null(&ops->columns, OP_COLUMNS + c, row);
}

int gpu_counts(const struct gpu_ops *ops, size_t row, const struct filter *filter)
{
    struct filter_gpu_work place = { ops->start[row],       ops->end[row],    ops->process[row],
                                     ops->correlation[row], ops->device[row], ops->stream[row] };

    return filter_gpu(filter, &place);
}

static const char *gpu_model_find_name(const char *const *names, size_t count, int64_t kind)
{
    return kind >= 0 && (uint64_t)kind < count ? names[kind] : NULL;
}

const char *memcpy_kind_name(int64_t kind)
{
    static const char *const names[] = {
        "Unknown",
        "Host-to-Device",
        "Device-to-Host",
        "Host-to-Array",
        "Array-to-Host",
        "Array-to-Array",
        "Array-to-Device",
        "Device-to-Array",
        "Device-to-Device",
        "Host-to-Host",
        "Peer-to-Peer",
        "Unified Host-to-Device",
        "Unified Device-to-Host",
        "Unified Device-to-Device",
    };

    return gpu_model_find_name(names, COUNT_OF(names), kind);
}

const char *memory_kind_name(int64_t kind)
{
    static const char *const names[] = {
        "Pageable", "Pinned", "Device", "Array", "Managed", "Device Static", "Managed Static", "Unknown",
    };

    return gpu_model_find_name(names, COUNT_OF(names), kind);
}

void memcpy_label(struct text *out, int64_t kind)
{
    const char *name = memcpy_kind_name(kind);

    text_clear(out);
    if (name)
        text_addf(out, "[CUDA memcpy %s]", name);
    else
        text_addf(out, "[CUDA memcpy kind %lld]", (long long)kind);
}

void dimensions_label(struct text *out, int64_t x, int64_t y, int64_t z)
{
    text_clear(out);
    text_addf(out, "%4lld %4lld %4lld", (long long)x, (long long)y, (long long)z);
}

/* ---- GPUs ------------------------------------------------------------------------------------------------------ */

enum { GPU_ID, CUDA_ID, PID, DEVICE_COLUMNS };

int gpu_devices_read(struct gpu_devices *devices, struct report *report, struct error *err)
{
    static const char *const names[DEVICE_COLUMNS] = { "gpuId", "cudaId", "pid" };

    *devices = (struct gpu_devices){ 0 };
    return columns_read(report, "TARGET_INFO_CUDA_DEVICE", names, DEVICE_COLUMNS, &devices->columns, err);
}

void gpu_devices_free(struct gpu_devices *devices)
{
    report_columns_free(&devices->columns);
}

int64_t gpu_device_of(const struct gpu_devices *devices, int64_t process, int64_t device)
{
    const struct report_columns *rows = &devices->columns;

    for (size_t row = 0; row < rows->rows; row++)
        if (rows->values[CUDA_ID][row] == device && rows->values[PID][row] == global_pid_number(process) &&
            !columns_is_null(rows, GPU_ID, row))
            return rows->values[GPU_ID][row];
    return device;
}
