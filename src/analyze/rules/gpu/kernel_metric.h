/* The code that rules on GPU metrics of running kernels share: a metric, a limit, and the kernels to look at. */
#ifndef TACHO_ANALYZE_RULES_GPU_KERNEL_METRIC_H
#define TACHO_ANALYZE_RULES_GPU_KERNEL_METRIC_H

#include "analyze/model/gpu.h"
#include "analyze/model/metrics/gpu_metric_roles.h"
#include "analyze/rules/rule.h"

struct kernel_metric {
    enum gpu_metric_role roles[2]; /* their sum; GPU_METRIC_ROLES: none */
    enum gpu_metric_role instead;  /* of both, where a GPU has that */
    int only_products;             /* only kernels that multiply matrices */
    double limit;                  /* percent */
    int is_above;                  /* means above the limit are findings, else those below */
    const char *data;              /* "SM activity" */
};

/* A row for each GPU whose mean, weighted by time, passes the limit. ERR_NO_DATA if no sample lies in the time of such
 * kernels: a sample counts if they cover nine tenths of it. as: the struct kernel_metric. */
int kernel_metric_run(struct report *report, const struct analysis_request *request, const void *as, struct table **out,
                      struct error *err);

enum {
    METRIC_IMPACT, /* the sampled time, times the share of the GPU's unit that was idle (is_above: in use) */
    METRIC_MEAN,
    METRIC_SAMPLED,
    METRIC_KERNEL_TIME,
    METRIC_START,
    METRIC_SAMPLES,
    METRIC_GPU,
    METRIC_KERNEL_MEAN,
    METRIC_KERNEL_SAMPLED,
    METRIC_KERNEL,
    METRIC_SOURCE,
    METRIC_CELLS
};

/* Appends "23 % of … while kernels ran, in 3.20 s of 4.10 s (8,123 samples of counters, 10 kHz); …". */
void kernel_metric_say(struct text *out, const char *what, const char *which, const struct table *table, size_t row);

#endif
