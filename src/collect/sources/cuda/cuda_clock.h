/* CUPTI's timestamps to report time.
 *
 * CUPTI gets its timestamps from wire_cuda_time(): ticks times a factor that is fixed for the arena. The map of
 * clock_map.h is piecewise linear over ticks, so it is piecewise linear over CUPTI's nanoseconds too, with slopes
 * close to 1. A timestamp thus costs one multiplication and keeps its resolution below a tick. The result is within 1
 * ns of clock_map_time() of the exact number of ticks. */
#ifndef TACHO_COLLECT_SOURCES_CUDA_CUDA_CLOCK_H
#define TACHO_COLLECT_SOURCES_CUDA_CUDA_CLOCK_H

#include <stddef.h>
#include <stdint.h>

#include "collect/core/clock_map.h"

#define CUDA_RATIO_SHIFT 62

struct cuda_clock {
    const struct clock_map *map;
    uint64_t ns_per_tick; /* wire_cuda_settings.ns_per_tick, as given to the agent */
    size_t stretch_count; /* of the map at the last refresh */
    /* The current stretch: its start and length. */
    uint64_t from_ns, length_ns;
    int64_t base_ns; /* report time at from_ns */
    uint64_t ratio;  /* << CUDA_RATIO_SHIFT */
};

void cuda_clock_init(struct cuda_clock *clock, const struct clock_map *map, uint64_t ns_per_tick);

/* Call this whenever the map may have a new stretch. */
void cuda_clock_refresh(struct cuda_clock *clock);

void cuda_clock_find(struct cuda_clock *clock, uint64_t ns);

/* The report time of a CUPTI timestamp. */
static inline int64_t cuda_clock_time(struct cuda_clock *clock, uint64_t ns)
{
    if (__builtin_expect(ns - clock->from_ns >= clock->length_ns, 0))
        cuda_clock_find(clock, ns);
    return (int64_t)((uint64_t)clock->base_ns +
                     (uint64_t)((unsigned __int128)(ns - clock->from_ns) * clock->ratio >> CUDA_RATIO_SHIFT));
}

#endif
