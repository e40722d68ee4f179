/* The samples of a GPU metric one by one, with the time in each in which kernels ran: for rules that look at moments.
 */
#ifndef TACHO_ANALYZE_RULES_GPU_BUSY_SAMPLES_H
#define TACHO_ANALYZE_RULES_GPU_BUSY_SAMPLES_H

#include "analyze/model/gpu.h"
#include "analyze/model/metrics/gpu_metric_roles.h"
#include "analyze/rules/rule.h"

struct busy_search;

struct busy_rule {
    const struct table_column *columns; /* the first is "Impact" */
    size_t column_count;
    int64_t percent;                    /* the threshold, unless the request has one */
    const char *missing;                /* the data that a report without a sample to judge lacks */
    /* Called for each GPU that has metrics: counts the samples that it judges, and adds rows to the table. */
    int (*visit)(struct busy_search *search, int64_t gpu);
};
/* as: the struct busy_rule. */
int busy_run(struct report *report, const struct analysis_request *request, const void *as, struct table **out,
             struct error *err);

struct busy_search {
    struct rule_search base;
    const struct busy_rule *how;
    struct table *table;
    int64_t samples;        /* that the rule could judge */
    const struct gpu_metrics *metrics;
    struct gpu_metrics own; /* unless they are shared */
    struct gpu_devices devices;
    struct gpu_ops kernels;
    uint32_t *order;        /* owned; kernels that count, by start */
    size_t count;
};

/* Time of kernels in each sample of a clock; NULL when memory is short. The caller frees it. */
int64_t *busy_samples(const struct busy_search *search, const struct gpu_clock *clock);

#endif
