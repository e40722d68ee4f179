/* kernel_roofline: operations, bytes and rate of each kernel, by type of data, beside the highest rate that the GPU has
 * for them. */
#include <stdio.h>
#include <string.h>

#include "analyze/engine/row_cursor.h"
#include "analyze/model/flops/gpu_peaks.h"
#include "analyze/registry.h"
#include "counters_report.h"

enum { LAUNCH, PRECISION, OPERATIONS, BYTES, INTENSITY, RATE, CEILING, SHARE, BOUND, PEAK, MISSING, KERNEL, COLUMNS };
static const struct table_column kernel_roofline_columns[COLUMNS] = {
    [LAUNCH] = { "ID", CELL_INT, UNIT_ID, 0 },
    [PRECISION] = { "Type", CELL_TEXT, UNIT_NONE, 0 },
    [OPERATIONS] = { "FLOP", CELL_INT, UNIT_NONE, 0 },
    [BYTES] = { "DRAM", CELL_INT, UNIT_BYTES, 0 },
    [INTENSITY] = { "FLOP/Byte", CELL_REAL, UNIT_NONE, 3 },
    [RATE] = { "GFLOP/s", CELL_REAL, UNIT_NONE, 1 },
    [CEILING] = { "Ceiling GFLOP/s", CELL_REAL, UNIT_NONE, 1 },
    [SHARE] = { "Of Ceiling", CELL_REAL, UNIT_PERCENT, 1 },
    [BOUND] = { "Bound By", CELL_TEXT, UNIT_NONE, 0 },
    [PEAK] = { "Peak From", CELL_TEXT, UNIT_NONE, 0 },
    [MISSING] = { "Not Collected", CELL_TEXT, UNIT_NONE, 0 },
    [KERNEL] = { "Name", CELL_TEXT, UNIT_NAME, 0 },
};

/* Types whose operations are counted by instruction. Those of fp16 work on two values at once. */
static const struct precision {
    const char *name;
    char letter;  /* in names of instructions: dadd, dmul, dfma */
    int per_inst; /* operations per addition; a fused multiply-add has twice as many */
    enum gpu_rate rate;
} precisions[] = {
    { "fp64", 'd', 1, RATE_FP64 },
    { "fp32", 'f', 1, RATE_FP32 },
    { "fp16", 'h', 2, GPU_RATES },
};

/* Types of tensor cores, whose operations have a counter each. */
static const struct {
    const char *name, *metric;
    enum gpu_rate rate;
} tensors[] = {
    { "fp64 tensor", "sm__ops_path_tensor_src_fp64", RATE_FP64_TENSOR },
    { "tf32 tensor", "sm__ops_path_tensor_src_tf32_dst_fp32", RATE_TF32 },
    { "bf16 tensor", "sm__ops_path_tensor_src_bf16_dst_fp32", RATE_FP16 },
    { "fp16 tensor", "sm__ops_path_tensor_src_fp16", RATE_FP16 },
    { "fp8 tensor", "sm__ops_path_tensor_src_fp8", RATE_FP8 },
    { "int8 tensor", "sm__ops_path_tensor_src_int8", RATE_INT8 },
};

/* One kernel, with the figures that all its rows need; NAN: not known. */
struct kernel_roofline_point {
    const struct kernel_counters *counters;
    const struct counted_kernel *kernel;
    const struct gpu_peaks *peaks;
    double seconds, cycles_per_second, bytes, bytes_per_second_peak;
    const char *peak_from;
};

/* ---- figures of a kernel --------------------------------------------------------------------------------------- */

static double kernel_roofline_number(const struct kernel_roofline_point *point, const char *metric)
{
    return kernel_counters_number(point->counters, point->kernel, metric);
}

static double first(const struct kernel_roofline_point *point, const char *const *metrics)
{
    return kernel_counters_first(point->counters, point->kernel, metrics);
}

static double kernel_roofline_bytes_of(const struct kernel_roofline_point *point)
{
    static const char *const reads[] = { "dram__bytes_read.sum", "dram__bytes_op_read.sum", NULL };
    static const char *const writes[] = { "dram__bytes_write.sum", "dram__bytes_op_write.sum", NULL };
    double bytes = kernel_roofline_number(point, "dram__bytes.sum");

    if (isnan(bytes))
        bytes = first(point, reads) + first(point, writes);
    return isnan(bytes) ? kernel_roofline_number(point, "dram__bytes.sum.per_second") * point->seconds : bytes;
}

/* The memory's highest rate as counters give it: bytes of a cycle × cycles of a second. */
static double memory_peak(const struct kernel_roofline_point *point)
{
    return kernel_roofline_number(point, "dram__bytes.sum.peak_sustained") *
           kernel_roofline_number(point, "dram__cycles_elapsed.avg.per_second");
}

static struct kernel_roofline_point point_of(const struct kernel_counters *counters,
                                             const struct counted_kernel *kernel, const struct gpu_peaks *peaks)
{
    static const char *const clocks[] = { "smsp__cycles_elapsed.avg.per_second", "sm__cycles_elapsed.avg.per_second",
                                          NULL };
    struct kernel_roofline_point point = { .counters = counters, .kernel = kernel, .peaks = peaks };

    point.seconds = kernel_roofline_number(&point, "gpu__time_duration.sum") / 1e9;
    point.cycles_per_second = first(&point, clocks);
    point.bytes = kernel_roofline_bytes_of(&point);
    point.bytes_per_second_peak = memory_peak(&point);
    point.peak_from = "counters";
    if (isnan(point.bytes_per_second_peak) && peaks->rate[RATE_MEMORY] > 0) {
        point.bytes_per_second_peak = peaks->rate[RATE_MEMORY];
        point.peak_from = "data sheet";
    }
    return point;
}

/* Operations of a counter that may have been read as a sum, or as a rate per cycle. */
static double counted(const struct kernel_roofline_point *point, const char *metric)
{
    char name[160];

    snprintf(name, sizeof name, "%s.sum", metric);
    double sum = kernel_roofline_number(point, name);
    snprintf(name, sizeof name, "%s.sum.per_cycle_elapsed", metric);
    return isnan(sum) ? kernel_roofline_number(point, name) * point->cycles_per_second * point->seconds : sum;
}

/* Operations of one instruction; ncu's roofline has some with their factor in them, per cycle. */
static double counted_op(const struct kernel_roofline_point *point, const struct precision *precision, const char *op)
{
    static const char *const units[] = { "smsp", "sm" };
    int factor = precision->per_inst * (strcmp(op, "fma") == 0 ? 2 : 1);
    double found = NAN;
    char name[160];

    for (size_t i = 0; i < 2 && isnan(found); i++) {
        snprintf(name, sizeof name, "%s__sass_thread_inst_executed_op_%c%s_pred_on", units[i], precision->letter, op);
        found = counted(point, name) * factor;
    }
    snprintf(name, sizeof name, "derived__smsp__sass_thread_inst_executed_op_%c%s_pred_on_x%d", precision->letter, op,
             factor);
    return isnan(found) ? kernel_roofline_number(point, name) * point->cycles_per_second * point->seconds : found;
}

static double operations_of(const struct kernel_roofline_point *point, const struct precision *precision)
{
    return counted_op(point, precision, "add") + counted_op(point, precision, "mul") +
           counted_op(point, precision, "fma");
}

/* The highest rate of a type: from counters, else from the GPU's data sheet. */
static double peak_of(struct kernel_roofline_point *point, const struct precision *precision, enum gpu_rate rate)
{
    char name[160];
    double peak = NAN;

    if (precision) {
        snprintf(name, sizeof name, "sm__sass_thread_inst_executed_op_%cfma_pred_on.sum.peak_sustained",
                 precision->letter);
        peak = kernel_roofline_number(point, name) * 2 * precision->per_inst;
        snprintf(name, sizeof name, "derived__sm__sass_thread_inst_executed_op_%cfma_pred_on_x%d", precision->letter,
                 2 * precision->per_inst);
        peak = (isnan(peak) ? kernel_roofline_number(point, name) : peak) * point->cycles_per_second;
    }
    if (!isnan(peak) || rate >= GPU_RATES || point->peaks->rate[rate] <= 0)
        return peak;
    point->peak_from = "data sheet";
    return point->peaks->rate[rate];
}

/* ---- rows ------------------------------------------------------------------------------------------------------ */

static int set_missing(struct table *table, struct table_cell *row, const struct kernel_roofline_point *point,
                       const char *operations)
{
    struct text names = { 0 };

    if (isnan(point->seconds))
        counters_add_name(&names, "gpu__time_duration.sum");
    if (isnan(point->bytes))
        counters_add_name(&names, "dram__bytes.sum");
    if (operations)
        counters_add_name(&names, operations);
    return counters_set_names(table, &row[MISSING], &names);
}

static int set_ceiling(struct table *table, struct table_cell *row, const struct kernel_roofline_point *point,
                       double rate, double intensity, double peak)
{
    double by_memory = intensity * point->bytes_per_second_peak, ceiling = fmin(peak, by_memory);

    if (isnan(peak) || isnan(by_memory))
        return 0;
    cell_set_number(&row[CEILING], ceiling / 1e9);
    if (ceiling > 0)
        cell_set_number(&row[SHARE], 100 * rate / ceiling);
    if (cell_set_string(table, &row[BOUND], by_memory < peak ? "memory" : "compute") != 0)
        return ERR_NO_MEMORY;
    return cell_set_string(table, &row[PEAK], point->peak_from);
}

static int kernel_roofline_add_row(struct table *table, const struct kernel_roofline_point *of_kernel, const char *name,
                                   double operations, const struct precision *precision, enum gpu_rate which)
{
    struct kernel_roofline_point point = *of_kernel;
    struct table_cell *row = table_add_row(table);
    double intensity = point.bytes > 0 ? operations / point.bytes : NAN;
    double rate = point.seconds > 0 ? operations / point.seconds : NAN, peak = peak_of(&point, precision, which);

    if (!row)
        return ERR_NO_MEMORY;
    cell_set_rounded(&row[OPERATIONS], operations);
    cell_set_rounded(&row[BYTES], point.bytes);
    cell_set_number(&row[INTENSITY], intensity);
    cell_set_number(&row[RATE], rate / 1e9);
    if (cell_set_string(table, &row[PRECISION], name) != 0 ||
        set_ceiling(table, row, &point, rate, intensity, peak) != 0 || set_missing(table, row, &point, NULL) != 0)
        return ERR_NO_MEMORY;
    return counters_set_kernel(table, &row[LAUNCH], &row[KERNEL], point.counters, point.kernel);
}

/* A kernel without operations: none were executed, or none were counted. */
static int kernel_roofline_add_rest(struct table *table, const struct kernel_roofline_point *point, int is_counted)
{
    struct table_cell *row = table_add_row(table);

    if (!row)
        return ERR_NO_MEMORY;
    if (is_counted)
        cell_set_int(&row[OPERATIONS], 0);
    cell_set_rounded(&row[BYTES], point->bytes);
    if (set_missing(table, row, point,
                    is_counted ? NULL : "smsp__sass_thread_inst_executed_op_{d,f,h}{add,mul,fma}_pred_on.sum") != 0)
        return ERR_NO_MEMORY;
    return counters_set_kernel(table, &row[LAUNCH], &row[KERNEL], point->counters, point->kernel);
}

static int kernel_roofline_add_kernel(struct table *table, const struct kernel_counters *counters,
                                      const struct counted_kernel *kernel, void *context)
{
    const struct gpu_peaks *peaks = context;
    struct kernel_roofline_point point = point_of(counters, kernel, peaks);
    size_t before = table_row_count(table);
    int is_counted = 0;

    for (size_t i = 0; i < COUNT_OF(precisions); i++) {
        double operations = operations_of(&point, &precisions[i]);
        is_counted |= !isnan(operations);
        if (operations > 0 && kernel_roofline_add_row(table, &point, precisions[i].name, operations, &precisions[i],
                                                      precisions[i].rate) != 0)
            return ERR_NO_MEMORY;
    }
    for (size_t i = 0; i < COUNT_OF(tensors); i++) {
        double operations = counted(&point, tensors[i].metric);
        is_counted |= !isnan(operations);
        if (operations > 0 &&
            kernel_roofline_add_row(table, &point, tensors[i].name, operations, NULL, tensors[i].rate) != 0)
            return ERR_NO_MEMORY;
    }
    return table_row_count(table) > before ? 0 : kernel_roofline_add_rest(table, &point, is_counted);
}

/* Peaks of the first GPU, for kernels whose peaks were not counted. */
static int read_peaks(struct gpu_peaks *peaks, struct report *report, struct error *err)
{
    static const char *const names[] = { "name",    "computeMajor", "computeMinor",
                                         "smCount", "clockRate",    "memoryBandwidth",
                                         NULL };
    struct gpu_facts facts = { 0 };
    struct row_cursor rows;
    int code;

    if ((code = row_cursor_open(&rows, report, "TARGET_INFO_GPU", names, err)) != 0)
        return code;
    if (row_cursor_next(&rows)) {
        int64_t name = row_int_or(&rows, 0, 0);
        facts = (struct gpu_facts){ .name = name ? report_string(report, name, NULL) : NULL,
                                    .compute_major = row_int_or(&rows, 1, 0),
                                    .compute_minor = row_int_or(&rows, 2, 0),
                                    .sm_count = row_int_or(&rows, 3, 0),
                                    .clock_hz = row_int_or(&rows, 4, 0),
                                    .memory_bytes_s = row_int_or(&rows, 5, 0) };
    }
    row_cursor_close(&rows);
    *peaks = gpu_peaks_of(&facts);
    return 0;
}

static int kernel_roofline_run(struct report *report, const struct analysis_request *request, struct table **out,
                               struct error *err)
{
    struct gpu_peaks peaks;
    int code;

    if ((code = read_peaks(&peaks, report, err)) != 0)
        return code;
    return counters_report(report, kernel_roofline_columns, COLUMNS, kernel_roofline_add_kernel, &peaks, out, err);
}

const struct analysis analysis_kernel_roofline = {
    .name = "kernel_roofline",
    .title = "Kernel Roofline",
    .help =
        "A row per counted kernel and type of data: operations from the counters of instructions and of tensor "
        "cores, bytes of DRAM, operations per byte, the rate, and the highest rate at this intensity (Ceiling), which "
        "memory or the multiprocessors bound. Peak From says whether counters or the GPU's data sheet gave the peaks. "
        "Not Collected names the metrics that empty cells need.",
    .needs = { KERNEL_COUNTER_NEED },
    .run = kernel_roofline_run,
};
