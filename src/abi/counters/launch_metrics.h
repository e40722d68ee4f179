/* The metrics that ncu computes from a launch: sizes, the limits of occupancy, and theoretical occupancy, by the rules
 * of CUDA's occupancy calculator. They are rows of launch_metrics.def. */
#ifndef TACHO_ABI_COUNTERS_LAUNCH_METRICS_H
#define TACHO_ABI_COUNTERS_LAUNCH_METRICS_H

#include <stddef.h>
#include <stdint.h>

/* 0: not known, but for shared memory and clusters, where it is none. */
struct launch_facts {
    int64_t grid[3], block[3], cluster[3];
    int64_t registers;                   /* of a thread */
    int64_t static_bytes, dynamic_bytes; /* of shared memory, of a block */
    int64_t shared_config_bytes;         /* shared memory that the multiprocessor was set to */
};

/* 0: not known. */
struct launch_gpu {
    int64_t capability; /* 90: 9.0 */
    int64_t sm_count, max_warps, max_blocks, registers;
};

/* The number of metrics, and the name and unit of each. */
size_t launch_metric_count(void);
const char *launch_metric_name(size_t metric);
const char *launch_metric_unit(size_t metric);

/* The values of all of them, in that order; NAN: not known. */
void launch_metrics(const struct launch_facts *launch, const struct launch_gpu *gpu, double *values);

#endif
