/* cuda_gpu_busy: the share of the time in which each GPU had work. */
#include "analyze/model/gpu_busy.h"
#include "analyze/registry.h"
#include "base/saturating.h"

static int cuda_busy_add_device(struct table *table, struct report *report, const struct gpu_busy_device *device)
{
    int64_t span = gpu_busy_span(device);
    struct table_cell *row = table_add_row(table);
    size_t length;

    if (!row)
        return ERR_NO_MEMORY;
    if (span > 0)
        cell_set_real(&row[0], 100.0 * (double)device->busy_ns / (double)span);
    cell_set_int(&row[1], device->busy_ns);
    cell_set_int(&row[2], span);
    cell_set_int(&row[3], (int64_t)device->operations);
    cell_set_int(&row[4], device->first_ns);
    cell_set_int(&row[5], device->last_ns);
    if (device->largest.length_ns > 0) {
        cell_set_int(&row[6], device->largest.length_ns);
        cell_set_int(&row[7], device->largest.start_ns);
    }
    cell_set_int(&row[8], device->gpu);
    const char *name = gpu_name(report, device->gpu, &length);
    return cell_set_text(table, &row[9], name, length);
}

static int cuda_busy_fill_table(struct table *table, struct report *report, const struct gpu_busy *busy)
{
    for (size_t i = 0; i < busy->device_count; i++)
        if (cuda_busy_add_device(table, report, &busy->devices[i]) != 0)
            return ERR_NO_MEMORY;
    return 0;
}

static int cuda_gpu_busy(struct report *report, const struct analysis_request *request, struct table **out,
                         struct error *err)
{
    static const struct table_column columns[] = {
        { "Busy", CELL_REAL, UNIT_PERCENT, 1 },    { "Busy Time", CELL_INT, UNIT_NS, 0 },
        { "Span", CELL_INT, UNIT_NS, 0 },          { "Operations", CELL_INT, UNIT_NONE, 0 },
        { "First Start", CELL_INT, UNIT_TIME, 0 }, { "Last End", CELL_INT, UNIT_TIME, 0 },
        { "Largest Gap", CELL_INT, UNIT_NS, 0 },   { "Gap Start", CELL_INT, UNIT_TIME, 0 },
        { "GPU", CELL_INT, UNIT_ID, 0 },           { "Name", CELL_TEXT, UNIT_NONE, 0 },
    };
    struct table *table = table_new(columns, COUNT_OF(columns));
    struct gpu_busy busy = { 0 };
    int code = gpu_busy_read(&busy, report, request, 0, err);

    if (code != 0)
        goto done;
    code = table ? cuda_busy_fill_table(table, report, &busy) : ERR_NO_MEMORY;
done:
    gpu_busy_free(&busy);
    return table_hand_over(table, code, out, err);
}

const struct analysis analysis_cuda_gpu_busy = {
    .name = "cuda_gpu_busy",
    .title = "CUDA GPU Busy Time",
    .help =
        "For each GPU: the time in which it had work (kernels, copies, fills, graphs; overlapping work counts once), "
        "the share of the time from its first work to its last, and the longest gap without work.",
    .needs = { { "CUDA trace data", gpu_busy_tables } },
    .run = cuda_gpu_busy,
};
