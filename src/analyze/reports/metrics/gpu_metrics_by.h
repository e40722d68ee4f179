/* Shared by the reports on GPU metrics by kernel, range, step and operator. Each report assigns work on a GPU to
 * groups, and names the groups. */
#ifndef TACHO_ANALYZE_REPORTS_METRICS_GPU_METRICS_BY_H
#define TACHO_ANALYZE_REPORTS_METRICS_GPU_METRICS_BY_H

#include "analyze/model/calls.h"
#include "analyze/model/filter.h"
#include "analyze/model/gpu.h"
#include "analyze/model/metrics/gpu_stretches.h"

#define GPU_METRICS_BY_USAGE "[:metric=<text>][:covered=<percent>]"

/* The report being made. */
struct gpu_metrics_by {
    struct report *report;
    const struct analysis_request *request;
    struct filter filter;
    struct gpu_devices devices;
    struct gpu_stretches stretches;
    void *context; /* the report's own data */
};

struct gpu_metrics_kind {
    /* Adds the spans of GPU work to by->stretches. */
    int (*collect)(struct gpu_metrics_by *by, struct error *err);
    /* Sets the name of a group. */
    void (*label)(struct gpu_metrics_by *by, struct text *out, const int64_t key[STRETCH_PARTS]);
    int is_in_order; /* groups stand in the order in which they were added, else those with most GPU time first */
};

int gpu_metrics_by_run(const struct gpu_metrics_kind *kind, void *context, struct report *report,
                       const struct analysis_request *request, struct table **out, struct error *err);

/* Work on a GPU and the call that launched it. */
struct launched_work {
    int64_t start_ns, end_ns, gpu;
    uint32_t call;
};
struct launched_works {
    struct calls calls;
    struct launched_work *list; /* owned */
    size_t count, room;
};
/* All work of the request whose call is known: kernels, copies, fills and graphs. Starts from {0}; needs
 * launched_works_free() after an error too. */
int launched_works_read(struct launched_works *works, const struct gpu_metrics_by *by, struct error *err);
void launched_works_free(struct launched_works *works);

/* The end of the help of each report. */
#define GPU_METRICS_BY_HELP                                                                                          \
    " A sample counts if the work covers at least covered (50) percent of its interval, and then with the time that "  \
    "the work covers: Sampled is the sum of these times. Work that ran side by side shares its samples. A metric "     \
    "without samples has no figures: the work was too short to be sampled. :metric selects metrics whose name "        \
    "contains the text."

#endif
