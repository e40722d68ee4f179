/* The counters of the kernel and of the CPU's cores, and whether this machine has them. */
#ifndef TACHO_COLLECT_SOURCES_PERF_COUNTER_ROWS_H
#define TACHO_COLLECT_SOURCES_PERF_COUNTER_ROWS_H

#include <stdint.h>

/* Counters: those of the kernel first, then those of the CPU's cores. */
enum { COLLECT_COUNTERS_OS = 9, COLLECT_COUNTERS = 19 };
struct collect_counter {
    const char *name, *about; /* NULL: the end of the list */
    uint32_t type, config;    /* for perf_event_open() */
    int in_kernel;            /* it counts events inside the kernel only */
};
extern const struct collect_counter collect_counters[COLLECT_COUNTERS + 1];

/* Tries to open a counter: 0, or -errno. collect_counter_refusal() returns the meaning of that error as the end of a
 * sentence. */
int collect_counter_probe(const struct collect_counter *event, int system_wide, int *with_kernel);
const char *collect_counter_refusal(const struct collect_counter *event, int error);

#endif
