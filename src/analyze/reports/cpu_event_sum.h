/* Metrics that are quotients of two counters of the CPU. */
#ifndef TACHO_ANALYZE_REPORTS_CPU_EVENT_SUM_H
#define TACHO_ANALYZE_REPORTS_CPU_EVENT_SUM_H

enum { CPU_METRICS = 3 };
struct cpu_metric {
    const char *name, *of, *per;
};
extern const struct cpu_metric cpu_metrics[CPU_METRICS];

#endif
