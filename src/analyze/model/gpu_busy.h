/* The share of time in which each GPU had work, of any kind and process, and its longest gaps without work. */
#ifndef TACHO_ANALYZE_MODEL_GPU_BUSY_H
#define TACHO_ANALYZE_MODEL_GPU_BUSY_H

#include "analyze/engine/analysis.h"
#include "base/saturating.h"

struct gpu_busy_gap {
    int64_t gpu;
    int64_t start_ns, length_ns;
    const char *table; /* of the work that ended it; row: its row there */
    uint32_t row;
};

struct gpu_busy_device {
    int64_t gpu;                 /* TARGET_INFO_GPU.id if the report maps the device to a GPU, else the device's
                                  * number */
    int64_t first_ns, last_ns;   /* begin of its first work, end of its last */
    int64_t busy_ns;             /* time with work; work that ran side by side counts once */
    int64_t paused_ns;           /* gaps in which nothing was recorded (--advise): neither busy nor idle */
    uint64_t operations;
    struct gpu_busy_gap largest; /* length 0: it had work all the time */
};

struct gpu_busy {
    struct gpu_busy_device *devices; /* owned; by gpu */
    size_t device_count;
    struct gpu_busy_gap *gaps;       /* owned; the longest of all GPUs, longest first, or all, in order of time */
    size_t gap_count;
    struct gpu_busy_gap *pauses;     /* owned; the gaps in which nothing was recorded, in order of time */
    size_t pause_count;
};

/* From its first work to its last, as far as it was recorded. */
static inline int64_t gpu_busy_span(const struct gpu_busy_device *device)
{
    return saturating_subtract(saturating_duration(device->first_ns, device->last_ns), device->paused_ns);
}

/* How much of a span a GPU had work, and how much of the span was recorded. `busy` must have all gaps. */
struct gpu_busy_use {
    int64_t busy_ns, whole_ns;
};
struct gpu_busy_use gpu_busy_use(const struct gpu_busy *busy, const struct gpu_busy_device *device,
                                 const struct report_span *span);

/* The tables of kernels, copies, fills and graphs; NULL-terminated. */
extern const char *const gpu_busy_tables[];

/* Reads all work of these tables, cut to the request's span. most_gaps limits the number of gaps. */
int gpu_busy_read(struct gpu_busy *busy, struct report *report, const struct analysis_request *request,
                  size_t most_gaps, struct error *err);
/* The same with all gaps of at least least_ns, in order of time. */
int gpu_busy_read_gaps(struct gpu_busy *busy, struct report *report, const struct analysis_request *request,
                       int64_t least_ns, struct error *err);
void gpu_busy_free(struct gpu_busy *busy);

/* The GPU's name, "" if the report has none. Valid while the report is open. */
const char *gpu_name(struct report *report, int64_t gpu, size_t *length);

#endif
