/* The roles of metrics, whoever recorded them: counters and readings of NVML and GPM have names of their own. */
#ifndef TACHO_ANALYZE_MODEL_METRICS_GPU_METRIC_ROLES_H
#define TACHO_ANALYZE_MODEL_METRICS_GPU_METRIC_ROLES_H

#include "gpu_metrics.h"

enum gpu_metric_role {
    ROLE_SM,            /* SMs with at least one warp, % */
    ROLE_TENSOR,        /* cycles in which tensor cores work, % */
    ROLE_DRAM,          /* share of the memory's bandwidth, % */
    ROLE_DRAM_READ,     /* and of that reads and writes */
    ROLE_DRAM_WRITE,
    ROLE_PCIE_RX,       /* share of the link's rate, %; RX: to the GPU */
    ROLE_PCIE_TX,
    ROLE_PCIE_RX_BYTES, /* bytes/s */
    ROLE_PCIE_TX_BYTES,
    ROLE_PCIE_GENERATION,
    ROLE_PCIE_LANES,
    ROLE_CLOCK,              /* of the SMs, MHz */
    ROLE_THROTTLED_BY_POWER, /* % */
    ROLE_THROTTLED_BY_TEMPERATURE,
    ROLE_THROTTLED,          /* for any reason, % */
    GPU_METRIC_ROLES
};

struct gpu_role {
    const struct gpu_metric *metric; /* NULL: the GPU has none */
    double scale;                    /* its values times this have the unit above */
};

/* The metric of a GPU with this role; of several the one with most samples, or, if clock is not NULL, one with this
 * clock. */
struct gpu_role gpu_metric_role(const struct gpu_metrics *metrics, struct report *report, int64_t gpu,
                                enum gpu_metric_role role, const uint32_t *clock);

/* Appends where samples of a metric come from: "GPM, 10 Hz", "counters, 10 kHz". */
void gpu_metric_add_source(struct text *out, struct report *report, const struct gpu_metrics *metrics,
                           const struct gpu_metric *metric);

#endif
