/* The samples of a GPU metric one by one, with the time in each in which kernels ran: for rules that look at moments.
 */
#ifndef TACHO_ANALYZE_RULES_GPU_BUSY_SAMPLES_H
#define TACHO_ANALYZE_RULES_GPU_BUSY_SAMPLES_H

#include "analyze/model/gpu.h"
#include "analyze/model/metrics/gpu_metric_roles.h"
#include "analyze/rules/rule.h"

/* The search of such a rule begins with this. */
struct busy_search {
    struct rule_search base;
    struct gpu_metrics metrics;
    struct gpu_devices devices;
    struct gpu_ops kernels;
    uint32_t *order; /* owned; kernels that count, by start */
    size_t count;
};

/* For struct rule_steps. */
int busy_search_read(void *search, struct error *err);
void busy_search_free(void *search);

/* Time of kernels in each sample of a clock; NULL when memory is short. The caller frees it. */
int64_t *busy_samples(const struct busy_search *search, const struct gpu_clock *clock);

/* Calls visit for each GPU that has metrics, once. */
int busy_each_gpu(struct busy_search *search, int (*visit)(struct busy_search *search, int64_t gpu, void *context),
                  void *context);

#endif
