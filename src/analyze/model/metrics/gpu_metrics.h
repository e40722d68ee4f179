/* Samples of GPU metrics (GPU_METRICS), from counters or from NVML: for each metric of each GPU its values in order of
 * time, and the span of time that each value is about.
 *
 * A sample of counters, of Tacho's or of nsys's, is about the interval that begins at its timestamp: it lasts until the
 * next sample. A reading of NVML or GPM is about the interval that ends there. In a gap of more than one and a half
 * periods samples were lost: the interval next to it lasts one period, and the rest of the gap is unsampled. */
#ifndef TACHO_ANALYZE_MODEL_METRICS_GPU_METRICS_H
#define TACHO_ANALYZE_MODEL_METRICS_GPU_METRICS_H

#include "analyze/engine/analysis.h"
#include "base/text.h"

/* The times of the samples of one or more metrics of one type. */
struct gpu_clock {
    int64_t gpu, type;
    int64_t period_ns;    /* the median */
    int64_t *start, *end; /* owned; in order, without overlap */
    size_t count;
};

struct gpu_metric {
    int64_t gpu, type, id;
    int64_t name;   /* in the string pool; -1: the report has none */
    int64_t source; /* in the string pool: NVML, GPM; "" or -1: counters */
    uint32_t clock;
    double *values; /* owned; by sample of its clock; in the unit of gpu_metric_add_unit() */
};

struct gpu_metrics {
    struct gpu_metric *list;  /* owned; by GPU, then type and id */
    size_t count;
    struct gpu_clock *clocks; /* owned; by GPU */
    size_t clock_count;
};

extern const char *const gpu_metrics_tables[];

/* Reads the samples in the request's span, on the request's device. Rows with a NULL or a value that is no number do
 * not count, and of two samples of a metric at one time the later row does. Metrics without samples are left out. */
int gpu_metrics_read(struct gpu_metrics *metrics, struct report *report, const struct analysis_request *request,
                     struct error *err);
void gpu_metrics_free(struct gpu_metrics *metrics); /* of {0} too */

/* Metrics that several rules look at: a minute at 10 kHz is 10 million samples, so they are read once. Starts from
 * {0}; one thread uses it. */
struct gpu_metrics_share {
    struct gpu_metrics metrics;
    struct report_span span; /* of the request that they were read for, and the device, -1: all */
    int64_t device;
    int is_read;
};
void gpu_metrics_share_free(struct gpu_metrics_share *share);

/* The samples of the request: those of its share, which the first call reads; or *own, which the caller frees, if the
 * request has no share, or the share is of another part of the capture. */
int gpu_metrics_get(const struct gpu_metrics **out, struct gpu_metrics *own, struct report *report,
                    const struct analysis_request *request, struct error *err);

/* Append its name, "metric 3" if the report has none; and its unit, if it has one. */
void gpu_metric_add_name(struct text *out, struct report *report, const struct gpu_metric *metric);
void gpu_metric_add_unit(struct text *out, struct report *report, const struct gpu_metric *metric);

/* The metrics of a GPU in the list. */
struct gpu_metrics_part {
    size_t first, count;
};
struct gpu_metrics_part gpu_metrics_of(const struct gpu_metrics *metrics, int64_t gpu);

#endif
