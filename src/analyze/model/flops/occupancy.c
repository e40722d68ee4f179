/* The rules of CUDA's occupancy calculation. */
#include "occupancy.h"

#include <stdlib.h>

#include "analyze/engine/row_cursor.h"
#include "base/saturating.h"

#define WARP_THREADS 32
#define REGISTER_UNIT 256 /* registers are given to warps in portions of this size */
#define PARTITIONS 4      /* of a multiprocessor, each with its own registers */

/* Limits that a report may lack, by compute capability; the last row is for all newer GPUs. */
static const struct {
    int64_t capability, warps, blocks;
} by_capability[] = {
    { 70, 64, 32 }, { 72, 64, 32 }, { 75, 32, 16 },  { 80, 64, 32 },  { 86, 48, 16 },  { 87, 48, 16 },
    { 89, 48, 24 }, { 90, 64, 32 }, { 100, 64, 32 }, { 103, 64, 32 }, { 110, 48, 24 }, { INT64_MAX, 48, 24 },
};

static void fill_limits(struct occupancy_gpu *gpu)
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

int occupancy_gpus_read(struct occupancy_gpus *gpus, struct report *report, struct error *err)
{
    enum { ID = 8 };
    /* in the order of struct occupancy_gpu */
    static const char *const names[] = {
        "cuDevice",       "smCount",           "computeMajor",  "computeMinor", "maxWarpsPerSm",
        "maxBlocksPerSm", "maxRegistersPerSm", "maxShmemPerSm", "id",           NULL
    };
    struct row_cursor rows;
    int code;

    *gpus = (struct occupancy_gpus){ 0 };
    if ((code = row_cursor_open(&rows, report, "TARGET_INFO_GPU", names, err)) != 0)
        return code;
    if (!(gpus->list = calloc(rows.columns.rows + 1, sizeof *gpus->list)) && (code = error_no_memory(err)) != 0)
        goto close_rows;
    while (row_cursor_next(&rows)) {
        struct occupancy_gpu *gpu = &gpus->list[gpus->count++];
        int64_t *fields = (int64_t *)(void *)gpu;
        for (size_t c = 0; c < ID; c++)
            fields[c] = row_int_or(&rows, c, c ? 0 : row_int_or(&rows, ID, 0));
        fill_limits(gpu);
    }
close_rows:
    row_cursor_close(&rows);
    return code;
}

void occupancy_gpus_free(struct occupancy_gpus *gpus)
{
    free(gpus->list);
    *gpus = (struct occupancy_gpus){ 0 };
}

const char *occupancy_limit_name(enum occupancy_limit limit)
{
    static const char *const names[OCCUPANCY_LIMITS] = {
        [LIMIT_GRID] = "grid",
        [LIMIT_WARPS] = "warps",
        [LIMIT_BLOCKS] = "blocks",
        [LIMIT_REGISTERS] = "registers",
        [LIMIT_SHARED_MEMORY] = "shared memory",
    };

    return names[limit];
}

static int64_t occupancy_round_up(int64_t number, int64_t unit)
{
    return (number + unit - 1) / unit * unit;
}

static void occupancy_lower(int64_t *most, enum occupancy_limit *limit, int64_t fit, enum occupancy_limit by)
{
    if (fit >= *most)
        return;
    *most = fit;
    *limit = by;
}

/* How many blocks fit at once, and what keeps more from it. */
static int64_t active_blocks(const struct occupancy_gpu *gpu, const struct occupancy_kernel *kernel,
                             enum occupancy_limit *limit)
{
    int64_t warps = (kernel->block_threads + WARP_THREADS - 1) / WARP_THREADS, most = gpu->max_warps / warps;
    int64_t shared_unit = gpu->compute_major >= 8 ? 128 : 256, shared_reserved = gpu->compute_major >= 8 ? 1024 : 0;

    *limit = LIMIT_WARPS;
    occupancy_lower(&most, limit, gpu->max_blocks, LIMIT_BLOCKS);
    if (kernel->registers > 0 && gpu->registers > 0) {
        int64_t of_warp = occupancy_round_up(kernel->registers * WARP_THREADS, REGISTER_UNIT);
        occupancy_lower(&most, limit, gpu->registers / PARTITIONS / of_warp * PARTITIONS / warps, LIMIT_REGISTERS);
    }
    if (gpu->shared_bytes > 0) {
        int64_t of_block = occupancy_round_up(kernel->shared_bytes + shared_reserved, shared_unit);
        occupancy_lower(&most, limit, of_block ? gpu->shared_bytes / of_block : most, LIMIT_SHARED_MEMORY);
    }
    return most;
}

struct occupancy occupancy_of(const struct occupancy_gpus *gpus, const struct occupancy_kernel *kernel)
{
    struct occupancy out = { 0 };
    const struct occupancy_gpu *gpu = NULL;

    for (size_t i = 0; i < gpus->count && !gpu; i++)
        if (gpus->list[i].device == kernel->device)
            gpu = &gpus->list[i];
    if (!gpu || gpu->sm_count <= 0 || kernel->grid <= 0 || kernel->block_threads <= 0 ||
        kernel->block_threads > INT32_MAX || kernel->registers > INT16_MAX || kernel->shared_bytes < 0 ||
        kernel->shared_bytes > INT32_MAX)
        return out;
    float blocks = (float)kernel->grid / (float)gpu->sm_count; /* in torch's precision */
    out.blocks = blocks;
    out.warps = blocks * ((float)kernel->block_threads / WARP_THREADS);
    if (gpu->max_warps <= 0 || gpu->max_blocks <= 0)
        return out;
    float active = (float)active_blocks(gpu, kernel, &out.limit);
    out.waves = active > 0 ? (double)(blocks / active) : 0;
    if (blocks < active) {
        active = blocks;
        out.limit = LIMIT_GRID;
    }
    out.percent = active * (float)kernel->block_threads / ((float)gpu->max_warps * WARP_THREADS) * 100;
    out.is_known = 1;
    return out;
}
