/* Counters of kernels: their options. Part of collect_options.h. */
#ifndef TACHO_COLLECT_OPTIONS_COUNTER_OPTIONS_H
#define TACHO_COLLECT_OPTIONS_COUNTER_OPTIONS_H

#include <stdint.h>

/* Lists have commas between their names; NULL: none. Without a list, no kernel is counted. */
struct counter_options {
    const char *sets, *sections, *metrics;
    const char *replay; /* "application" or "kernel"; NULL: by the number of passes */
    /* Which launches are counted: lines for the agent, such as "kernel=regex:gemm" (launch_filter.h), each ended by a
     * line feed; NULL: all. */
    const char *filters;
    const char *const
        *ranges;        /* NVTX ranges that launches must be in, as rules (nvtx_launch.c), ended by NULL; NULL: none */
    double max_seconds; /* counting ends after it, the program does not; 0: no limit */
    uint64_t max_bytes; /* of images, which stay in /tmp until the program has ended; 0: the default */
};

#endif
