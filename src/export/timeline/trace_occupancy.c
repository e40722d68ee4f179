/* The occupancy of a kernel, by the rules of CUDA's occupancy calculation: blocks run at once as far as warps,
 * registers and shared memory allow. */
#include "trace.h"

#include <math.h>
#include <stdlib.h>

#include "analyze/engine/row_cursor.h"
#include "base/saturating.h"

#define WARP_THREADS 32
#define REGISTER_UNIT 256 /* registers are given to warps in such portions */
#define PARTITIONS 4      /* of a multiprocessor, each with its own registers */

/* Limits that a report may lack, by compute capability; the last row is for all newer GPUs. */
static const struct {
    int64_t capability, warps, blocks;
} by_capability[] = {
    { 70, 64, 32 }, { 72, 64, 32 }, { 75, 32, 16 },  { 80, 64, 32 },  { 86, 48, 16 },  { 87, 48, 16 },
    { 89, 48, 24 }, { 90, 64, 32 }, { 100, 64, 32 }, { 103, 64, 32 }, { 110, 48, 24 }, { INT64_MAX, 48, 24 },
};

static void fill_limits(struct trace_gpu *gpu)
{
    int64_t capability = saturating_add(saturating_multiply(gpu->compute_major, 10), gpu->compute_minor);
    size_t i = 0;

    if (gpu->compute_major <= 0)
        return;
    while (by_capability[i].capability < capability)
        i++;
    gpu->max_warps = gpu->max_warps ? gpu->max_warps : by_capability[i].warps;
    gpu->max_blocks = gpu->max_blocks ? gpu->max_blocks : by_capability[i].blocks;
}

int trace_read_gpus(struct trace *trace, struct error *err)
{
    /* in the order of struct trace_gpu */
    static const char *const names[] = { "cuDevice",          "smCount",       "computeMajor",
                                         "computeMinor",      "maxWarpsPerSm", "maxBlocksPerSm",
                                         "maxRegistersPerSm", "maxShmemPerSm", NULL };
    struct row_cursor rows;
    int code = row_cursor_open(&rows, trace->report, "TARGET_INFO_GPU", names, err);

    if (code != 0)
        return code;
    if (!(trace->gpus = calloc(rows.columns.rows + 1, sizeof *trace->gpus))) {
        code = error_set(err, ERR_NO_MEMORY, "out of memory");
        goto close_rows;
    }
    while (row_cursor_next(&rows)) {
        struct trace_gpu *gpu = &trace->gpus[trace->gpu_count++];
        int64_t *fields = (int64_t *)(void *)gpu;
        for (size_t c = 0; names[c]; c++)
            fields[c] = row_int_or(&rows, c, 0);
        fill_limits(gpu);
    }
close_rows:
    row_cursor_close(&rows);
    return code;
}

static int64_t round_up(int64_t number, int64_t unit)
{
    return (number + unit - 1) / unit * unit;
}

/* How many blocks fit at once; 0 if it is not known. */
static int64_t active_blocks(const struct trace_gpu *gpu, const struct trace_kernel *kernel)
{
    int64_t warps = (kernel->block_threads + WARP_THREADS - 1) / WARP_THREADS;
    int64_t most = gpu->max_blocks, fit = gpu->max_warps / warps;
    int64_t shared_unit = gpu->compute_major >= 8 ? 128 : 256, shared_reserved = gpu->compute_major >= 8 ? 1024 : 0;

    most = fit < most ? fit : most;
    if (kernel->registers > 0 && gpu->registers > 0) {
        int64_t of_warp = round_up(kernel->registers * WARP_THREADS, REGISTER_UNIT);
        fit = gpu->registers / PARTITIONS / of_warp * PARTITIONS / warps;
        most = fit < most ? fit : most;
    }
    if (gpu->shared_bytes > 0) {
        int64_t of_block = round_up(kernel->shared_bytes + shared_reserved, shared_unit);
        fit = of_block ? gpu->shared_bytes / of_block : most;
        most = fit < most ? fit : most;
    }
    return most;
}

struct trace_occupancy trace_occupancy(const struct trace *trace, const struct trace_kernel *kernel)
{
    struct trace_occupancy out = { 0 };
    const struct trace_gpu *gpu = NULL;

    for (size_t i = 0; i < trace->gpu_count && !gpu; i++)
        if (trace->gpus[i].device == kernel->device)
            gpu = &trace->gpus[i];
    if (!gpu || gpu->sm_count <= 0 || kernel->grid <= 0 || kernel->block_threads <= 0 ||
        kernel->block_threads > INT32_MAX || kernel->registers > INT16_MAX || kernel->shared_bytes < 0 ||
        kernel->shared_bytes > INT32_MAX)
        return out;
    float blocks = (float)kernel->grid / (float)gpu->sm_count; /* in torch's precision */
    out.blocks = blocks;
    out.warps = blocks * ((float)kernel->block_threads / WARP_THREADS);
    if (gpu->max_warps <= 0 || gpu->max_blocks <= 0)
        return out;
    float active = (float)active_blocks(gpu, kernel);
    active = active < blocks ? active : blocks;
    out.percent = saturating_from_double(
        roundf(active * (float)kernel->block_threads / ((float)gpu->max_warps * WARP_THREADS) * 100));
    out.is_known = 1;
    return out;
}
