/* Counters of our own captures are those that the hardware counts. All else that ncu reports of a launch comes from the
 * trace: the row of the kernel, joined by its correlation, and the row of its GPU. */
#include <math.h>
#include <stdlib.h>

#include "abi/counters/launch_metrics.h"
#include "analyze/engine/keys.h"
#include "analyze/engine/row_cursor.h"
#include "base/array.h"
#include "kernel_counters.h"

/* ---- GPUs ------------------------------------------------------------------------------------------------------ */

struct gpu {
    struct launch_gpu facts;
    int64_t name; /* string id; 0: none */
};

struct gpus {
    struct gpu *list; /* owned */
    size_t count;
};

/* Columns of TARGET_INFO_GPU and the fact that each is. */
static const struct {
    const char *column;
    size_t offset;
} facts[] = {
#define FACT(column, field) { column, offsetof(struct launch_gpu, field) }
    FACT("smCount", sm_count),
    FACT("maxWarpsPerSm", max_warps),
    FACT("maxBlocksPerSm", max_blocks),
    FACT("maxRegistersPerSm", registers),
    FACT("threadsPerWarp", warp_threads),
    FACT("maxThreadsPerBlock", block_threads),
    FACT("maxRegistersPerBlock", block_registers),
    FACT("maxBlockDimX", block_dim[0]),
    FACT("maxBlockDimY", block_dim[1]),
    FACT("maxBlockDimZ", block_dim[2]),
    FACT("maxGridDimX", grid_dim[0]),
    FACT("maxGridDimY", grid_dim[1]),
    FACT("maxGridDimZ", grid_dim[2]),
    FACT("maxShmemPerBlock", block_shared_bytes),
    FACT("maxShmemPerBlockOptin", block_shared_bytes_optin),
    FACT("maxShmemPerSm", shared_bytes),
    FACT("constantMemory", constant_bytes),
    FACT("l2CacheSize", l2_bytes),
    FACT("totalMemory", memory_bytes),
    FACT("clockRate", clock_hz),
    FACT("asyncEngines", copy_engines),
#undef FACT
};
enum { FACTS = COUNT_OF(facts), NAME = FACTS, MAJOR, MINOR, CUDA_DEVICE, ID, GPU_COLUMNS };

static struct gpu counted_launch_gpu_of(const struct row_cursor *rows)
{
    int64_t major = row_int_or(rows, MAJOR, 0), minor = row_int_or(rows, MINOR, 0);
    struct gpu gpu = { .name = row_int_or(rows, NAME, 0) };

    for (size_t i = 0; i < FACTS; i++)
        *(int64_t *)(void *)((char *)&gpu.facts + facts[i].offset) = row_int_or(rows, i, 0);
    gpu.facts.device = row_int_or(rows, CUDA_DEVICE, row_int_or(rows, ID, -1));
    if (major > 0 && major < 1000 && minor >= 0 && minor < 10)
        gpu.facts.capability = major * 10 + minor;
    return gpu;
}

static int counted_launch_read_gpus(struct gpus *gpus, struct report *report, struct error *err)
{
    const char *names[GPU_COLUMNS + 1] = {
        [NAME] = "name", [MAJOR] = "computeMajor", [MINOR] = "computeMinor", [CUDA_DEVICE] = "cuDevice", [ID] = "id"
    };
    struct row_cursor rows;
    int code;

    for (size_t i = 0; i < FACTS; i++)
        names[i] = facts[i].column;
    if ((code = row_cursor_open(&rows, report, "TARGET_INFO_GPU", names, err)) != 0)
        return code;
    if (!(gpus->list = calloc(rows.columns.rows + 1, sizeof *gpus->list)) && (code = error_no_memory(err)) != 0)
        goto close_rows;
    while (row_cursor_next(&rows))
        gpus->list[gpus->count++] = counted_launch_gpu_of(&rows);
close_rows:
    row_cursor_close(&rows);
    return code;
}

/* ---- launches -------------------------------------------------------------------------------------------------- */

enum {
    CORRELATION,
    PID,
    DEVICE,
    CONTEXT,
    STREAM,
    GREEN,
    REGISTERS,
    STATIC_BYTES,
    DYNAMIC_BYTES,
    SHARED_BYTES,
    GRID,
    BLOCK = GRID + 3,
    CLUSTER = BLOCK + 3
};

static struct launch_facts launch_of(const struct row_cursor *rows)
{
    struct launch_facts launch = {
        .registers = row_int_or(rows, REGISTERS, 0),
        .static_bytes = row_int_or(rows, STATIC_BYTES, 0),
        .dynamic_bytes = row_int_or(rows, DYNAMIC_BYTES, 0),
        .shared_config_bytes = row_int_or(rows, SHARED_BYTES, 0),
        .context = row_int_or(rows, CONTEXT, -1),
        .stream = row_int_or(rows, STREAM, -1),
        .green_context = row_int_or(rows, GREEN, 0),
    };

    for (size_t i = 0; i < 3; i++) {
        launch.grid[i] = row_int_or(rows, GRID + i, 0);
        launch.block[i] = row_int_or(rows, BLOCK + i, 0);
        launch.cluster[i] = row_int_or(rows, CLUSTER + i, 0);
    }
    return launch;
}

static int counted_launch_add_value(struct kernel_counters *counters, size_t kernel, const char *name, const char *unit,
                                    double value, int64_t text)
{
    uint32_t metric = kernel_counters_metric(counters, name, unit, "");

    if (metric == NO_KEY || array_reserve(&counters->values, &counters->value_room, counters->value_count + 1,
                                          sizeof *counters->values) != 0)
        return ERR_NO_MEMORY;
    counters->values[counters->value_count] = (struct counter_value){
        (uint32_t)kernel, metric, SIZE_MAX, value, value, value, text
    };
    counters->value_count++;
    return 0;
}

/* Values that the report has come first, and are kept. */
static int counted_launch_add_launch(struct kernel_counters *counters, size_t kernel, const struct gpus *gpus,
                                     const struct row_cursor *rows)
{
    static const struct gpu unknown = { .facts.device = -1 };
    const struct gpu *gpu = &unknown;
    struct launch_facts launch = launch_of(rows);
    double values[LAUNCH_METRICS];

    for (size_t i = 0; i < gpus->count && gpu == &unknown; i++)
        if (gpus->list[i].facts.device == row_int_or(rows, DEVICE, -1))
            gpu = &gpus->list[i];
    if (counters->kernels[kernel].major < 0 && gpu->facts.capability) {
        counters->kernels[kernel].major = gpu->facts.capability / 10;
        counters->kernels[kernel].minor = gpu->facts.capability % 10;
    }
    launch_metrics(&launch, &gpu->facts, values);
    for (size_t i = 0; i < LAUNCH_METRICS; i++)
        if (!isnan(values[i]) &&
            counted_launch_add_value(counters, kernel, launch_metric_name(i), launch_metric_unit(i), values[i], 0) != 0)
            return ERR_NO_MEMORY;
    return gpu->name ? counted_launch_add_value(counters, kernel, "device__attribute_display_name", "", NAN, gpu->name)
                     : 0;
}

static int add_launches(struct kernel_counters *counters, const struct keys *wanted, const size_t *kernels,
                        const struct gpus *gpus, struct error *err)
{
    static const char *const names[] = { "correlationId",
                                         "globalPid",
                                         "deviceId",
                                         "contextId",
                                         "streamId",
                                         "greenContextId",
                                         "registersPerThread",
                                         "staticSharedMemory",
                                         "dynamicSharedMemory",
                                         "sharedMemoryExecuted",
                                         "gridX",
                                         "gridY",
                                         "gridZ",
                                         "blockX",
                                         "blockY",
                                         "blockZ",
                                         "clusterX",
                                         "clusterY",
                                         "clusterZ",
                                         NULL };
    struct row_cursor rows;
    int code;

    if ((code = row_cursor_open(&rows, counters->report, "CUPTI_ACTIVITY_KIND_KERNEL", names, err)) != 0)
        return code;
    while (row_cursor_next(&rows)) {
        int64_t key[] = { row_int_or(&rows, CORRELATION, -1), row_int_or(&rows, PID, -1) };
        uint32_t at = keys_find(wanted, key);
        if (at != NO_KEY && counted_launch_add_launch(counters, kernels[at], gpus, &rows) != 0 &&
            (code = error_no_memory(err)) != 0)
            break;
    }
    row_cursor_close(&rows);
    return code;
}

int kernel_counters_add_launches(struct kernel_counters *counters, struct error *err)
{
    struct keys wanted = { .width = 2 };
    struct gpus gpus = { 0 };
    size_t *kernels = calloc(counters->kernel_count + 1, sizeof *kernels);
    int code;

    if (!kernels && (code = error_no_memory(err)) != 0)
        goto done;
    for (size_t i = 0; i < counters->kernel_count; i++) {
        const struct counted_kernel *kernel = &counters->kernels[i];
        uint32_t at = kernel->correlation < 0
                          ? NO_KEY
                          : keys_add(&wanted, (int64_t[]){ kernel->correlation, kernel->global_pid });
        if (at != NO_KEY)
            kernels[at] = i;
    }
    if ((code = counted_launch_read_gpus(&gpus, counters->report, err)) != 0)
        goto done;
    if (wanted.count)
        code = add_launches(counters, &wanted, kernels, &gpus, err);
done:
    keys_free(&wanted);
    free(gpus.list);
    free(kernels);
    return code;
}
