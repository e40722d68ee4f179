#include "launch_metrics.h"

#include <math.h>

enum {
    WARP_THREADS = 32,
    PARTITIONS = 4,            /* of a multiprocessor, each with its own registers */
    SMS_OF_TPC = 2,
    WARP_REGISTERS_UNIT = 256, /* registers are allocated to a warp in such portions */
    BLOCKS_WITHOUT_SHARED = 32 /* ncu's limit for a kernel without any shared memory */
};

struct launch_fit {
    double threads, blocks; /* of a block; of the grid */
    double registers_of_thread;
    double driver_bytes, shared_bytes, shared_allocated;
    double limit_blocks, limit_registers, limit_shared, limit_warps;
    double active_blocks, active_warps; /* at once, on a multiprocessor */
};

static double known(int64_t number)
{
    return number > 0 ? (double)number : NAN;
}

/* Where 0 is a number too. */
static double number(int64_t id)
{
    return id >= 0 ? (double)id : NAN;
}

/* Only the driver knows how many clusters run at once. */
static double none_without_cluster(const struct launch_facts *launch)
{
    return launch->cluster[0] > 0 ? NAN : 0;
}

static double launch_metrics_round_up(double number, double unit)
{
    return ceil(number / unit) * unit;
}

/* Rules that depend on the compute capability. */
static double shared_unit(const struct launch_gpu *gpu)
{
    return gpu->capability >= 80 ? 128 : 256;
}

static double driver_bytes(const struct launch_gpu *gpu)
{
    return gpu->capability >= 80 ? 1024 : 0;
}

/* The lower one; NAN if one of them is not known. */
static double launch_metrics_least(double a, double b)
{
    return isnan(a) || isnan(b) ? NAN : a < b ? a : b;
}

static struct launch_fit fit_of(const struct launch_facts *launch, const struct launch_gpu *gpu)
{
    struct launch_fit fit = { .threads = 1, .blocks = 1 };

    for (int i = 0; i < 3; i++) {
        fit.threads *= known(launch->block[i]);
        fit.blocks *= known(launch->grid[i]);
    }
    double warps = ceil(fit.threads / WARP_THREADS);
    double of_warp = launch_metrics_round_up(known(launch->registers) * WARP_THREADS, WARP_REGISTERS_UNIT);
    fit.registers_of_thread = of_warp / WARP_THREADS;
    fit.driver_bytes = driver_bytes(gpu);
    fit.shared_bytes = (double)(launch->static_bytes + launch->dynamic_bytes) + fit.driver_bytes;
    fit.shared_allocated = launch_metrics_round_up(fit.shared_bytes, shared_unit(gpu));
    fit.limit_blocks = known(gpu->max_blocks);
    fit.limit_warps = floor(known(gpu->max_warps) / warps);
    fit.limit_registers = floor(floor(known(gpu->registers) / PARTITIONS / of_warp) * PARTITIONS / warps);
    fit.limit_shared = fit.shared_allocated > 0 ? floor(known(launch->shared_config_bytes) / fit.shared_allocated)
                                                : BLOCKS_WITHOUT_SHARED;
    /* Of a replayed launch CUPTI does not tell the configuration. The driver chooses one that does not limit it. */
    double room = isnan(fit.limit_shared) ? floor(known(gpu->shared_bytes) / fit.shared_allocated) : fit.limit_shared;
    fit.active_blocks = launch_metrics_least(launch_metrics_least(fit.limit_blocks, fit.limit_warps),
                                             launch_metrics_least(fit.limit_registers, room));
    fit.active_warps = fit.active_blocks * warps;
    return fit;
}

static const struct {
    const char *name, *unit;
} rows[] = {
#define LAUNCH_METRIC(name, unit, formula) { name, unit },
#include "launch_metrics.def"
#undef LAUNCH_METRIC
};

const char *launch_metric_name(size_t metric)
{
    return rows[metric].name;
}

const char *launch_metric_unit(size_t metric)
{
    return rows[metric].unit;
}

void launch_metrics(const struct launch_facts *launch, const struct launch_gpu *gpu, double *values)
{
    const struct launch_fit made = fit_of(launch, gpu), *fit = &made;

#define LAUNCH_METRIC(name, unit, formula) *values++ = formula;
#include "launch_metrics.def"
#undef LAUNCH_METRIC
}
