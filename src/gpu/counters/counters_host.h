/* The metrics of one chip, by CUPTI's Host interface: needs no GPU. */
#ifndef TACHO_GPU_COUNTERS_COUNTERS_HOST_H
#define TACHO_GPU_COUNTERS_COUNTERS_HOST_H

#include <stddef.h>
#include <stdint.h>

#include "abi/cupti_profiler.h"

struct counters_host {
    void *object;                /* CUPTI's */
    char chip[32];
    enum cupti_profiler_type profiler;
    const uint8_t *availability; /* the counters that a GPU has; NULL: all that its chip may have */
    struct counters_bases {
        char **names;            /* owned */
        size_t count;
        int is_read;
    } bases[CUPTI_METRIC_TYPES];
};

/* The longest name of a metric with its suffix; the longest that exists has 130 letters. */
enum { COUNTER_NAME_BYTES = 256, COUNTER_UNIT_BYTES = 64 };

struct counters_properties {
    enum cupti_metric_type type;
    char unit[COUNTER_UNIT_BYTES];     /* ncu's spelling */
    char hardware[COUNTER_UNIT_BYTES]; /* unit of the chip: sm, lts, dram */
};

/* Returns CUPTI's result. counters_host_close() of a host that did not open does nothing. */
int counters_host_open(struct counters_host *host, const char *chip, enum cupti_profiler_type profiler,
                       const uint8_t *availability);
void counters_host_close(struct counters_host *host);

/* The base metrics of one type. */
const struct counters_bases *counters_host_bases(struct counters_host *host, enum cupti_metric_type type);

/* The suffixes of a base metric: ".avg", ".sum.per_second". */
size_t counters_host_suffixes(const struct counters_host *host, enum cupti_metric_type type, const char *base,
                              const char ***suffixes);

/* Whether the chip has a metric, and what it is; the name must have its suffix, which versions before 13.0 require. */
int counters_host_has(const struct counters_host *host, const char *name, struct counters_properties *properties);

/* The suffix that any base metric of that type has. */
const char *counters_host_some_suffix(enum cupti_metric_type type);

/* Makes the config image of these metrics and counts the passes. `image` is the caller's to free. A host takes one
 * configuration. Returns CUPTI's result. */
struct counters_config {
    uint8_t *image;
    size_t bytes, passes;
};
int counters_host_config(const struct counters_host *host, const char **names, size_t count,
                         struct counters_config *config);

#endif
