/* The metrics that ncu computes from a launch: sizes, the limits of occupancy, and theoretical occupancy, by the rules
 * of CUDA's occupancy calculator. They are rows of launch_metrics.def. */
#ifndef TACHO_ABI_COUNTERS_LAUNCH_METRICS_H
#define TACHO_ABI_COUNTERS_LAUNCH_METRICS_H

#include <stddef.h>
#include <stdint.h>

/* 0: not known, but for shared memory and clusters, where it is none. */
struct launch_facts {
    int64_t grid[3], block[3], cluster[3];
    int64_t registers;                      /* of a thread */
    int64_t static_bytes, dynamic_bytes;    /* of shared memory, of a block */
    int64_t shared_config_bytes;            /* shared memory that the multiprocessor was set to */
    int64_t context, stream, green_context; /* -1: not known */
};

/* 0: not known. */
struct launch_gpu {
    int64_t capability;                                                 /* 90: 9.0 */
    int64_t sm_count, max_warps, max_blocks, registers;
    int64_t warp_threads, block_threads, block_registers, block_dim[3], grid_dim[3];
    int64_t block_shared_bytes, block_shared_bytes_optin, shared_bytes; /* the last: of a multiprocessor */
    int64_t constant_bytes, l2_bytes, memory_bytes, clock_hz, copy_engines;
    int64_t device;                                                     /* its number in CUDA; -1: not known */
};

enum {
#define LAUNCH_METRIC(name, unit, formula) +1
    LAUNCH_METRICS = 0
#include "launch_metrics.def"
#undef LAUNCH_METRIC
};

/* The name and unit of each. */
const char *launch_metric_name(size_t metric);
const char *launch_metric_unit(size_t metric);

/* The values of all of them, in that order; NAN: not known. */
void launch_metrics(const struct launch_facts *launch, const struct launch_gpu *gpu, double *values);

#endif
