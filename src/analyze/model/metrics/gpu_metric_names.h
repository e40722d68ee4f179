/* Names of GPU metrics: nsys ends them with the unit in brackets, "SMs Active [Throughput %]". */
#ifndef TACHO_ANALYZE_MODEL_METRICS_GPU_METRIC_NAMES_H
#define TACHO_ANALYZE_MODEL_METRICS_GPU_METRIC_NAMES_H

#include <stddef.h>

struct gpu_metric_unit {
    const char *text;   /* "%"; not terminated */
    size_t length;
    double scale;       /* stored values times this are in the unit */
    size_t name_length; /* of the name without its unit */
};

struct gpu_metric_unit gpu_metric_unit(const char *name, size_t length);

#endif
