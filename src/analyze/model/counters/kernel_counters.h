/* Hardware counters of kernels, as a report holds them: kernels, metrics, and the values of each kernel. */
#ifndef TACHO_ANALYZE_MODEL_COUNTERS_KERNEL_COUNTERS_H
#define TACHO_ANALYZE_MODEL_COUNTERS_KERNEL_COUNTERS_H

#include "analyze/engine/analysis.h"
#include "base/intern.h"
#include "report/reader/reader.h"

struct counter_value {
    uint32_t kernel, metric;        /* places in the lists */
    size_t row;                     /* in the report; SIZE_MAX: a fact of the launch */
    double value, minimum, maximum; /* NAN: none. Without a summary all are the value */
    int64_t text;                   /* string id; 0: none */
};

struct counted_kernel {
    int64_t id, launch, correlation, global_pid, pid, device, context, stream, major, minor, passes; /* -1: not known */
    int64_t name, short_name, process_name, host_name, range; /* string ids; 0: none */
    int64_t grid[3], block[3];                                /* 0: not known */
    int64_t invocations;                                      /* at least 1 */
    int is_summary;                                           /* of several launches */
    size_t first, count;                                      /* its values, by metric */
};

/* Metrics that differ only in their section are one. */
struct counted_metric {
    const char *name, *unit; /* "": it has none */
    const char *section;     /* of ncu's details page, where it was found first; "": none */
};

struct kernel_counters {
    struct report *report;
    struct counted_kernel *kernels; /* owned, in the order of the report */
    size_t kernel_count, kernel_room;
    struct counted_metric *metrics; /* owned, in the order of the report */
    size_t metric_room;             /* their count is that of `names` */
    struct intern names;
    struct counter_value *values;   /* owned, by kernel and metric */
    size_t value_count, value_room;
    int has_origins;                /* metrics without a section were asked for by name: Tacho counted, in one run */
};

int kernel_counters_read(struct kernel_counters *counters, struct report *report, struct error *err);
void kernel_counters_free(struct kernel_counters *counters); /* of {0} too */

/* The place of a metric, which is added if it is new; NO_KEY when memory is short. The texts must live as long as the
 * counters. */
uint32_t kernel_counters_metric(struct kernel_counters *counters, const char *name, const char *unit,
                                const char *section);

/* Adds what the launch and the GPU say, for kernels of the trace: sizes, limits of occupancy, attributes of the GPU
 * (abi/counters/launch_metrics.def). */
int kernel_counters_add_launches(struct kernel_counters *counters, struct error *err);

/* Sorts the values and finds those of each kernel; of several values of a metric, the first is kept. */
void kernel_counters_order(struct kernel_counters *counters);

/* The properties that kernels of one group have in common. */
enum {
    COUNTERS_BY_PROCESS = 1,
    COUNTERS_BY_NAME = 2,
    COUNTERS_BY_SIZES = 4, /* grid and block */
    COUNTERS_BY_DEVICE = 8,
    COUNTERS_BY_RANGE = 16
};
/* Makes one kernel of each group, with the least, mean and greatest value of each metric; texts are left out. Free it
 * with kernel_counters_free() in any case. ERR_NO_MEMORY or 0. */
int kernel_counters_summarize(struct kernel_counters *out, const struct kernel_counters *from, unsigned by);

/* The value of a metric, or NULL. */
const struct counter_value *kernel_counters_find(const struct kernel_counters *counters,
                                                 const struct counted_kernel *kernel, const char *metric);
/* Its number; NAN if it has none. */
double kernel_counters_number(const struct kernel_counters *counters, const struct counted_kernel *kernel,
                              const char *metric);
/* That of the first of several metrics, up to a NULL, that has one. */
double kernel_counters_first(const struct kernel_counters *counters, const struct counted_kernel *kernel,
                             const char *const *metrics);

/* The need of a report on these tables: a row of its `needs`. */
extern const char *const kernel_counter_tables[];
#define KERNEL_COUNTER_NEED { "hardware counters of kernels", kernel_counter_tables }

#endif
