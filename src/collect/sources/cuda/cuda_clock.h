/* From CUPTI's timestamps to the report's time.
 *
 * CUPTI is given wire_cuda_time(): ticks times a factor that is fixed for the arena. The map of clock_map.h is
 * a broken line over ticks; over CUPTI's nanoseconds it is one too, with slopes close to 1, so that a
 * timestamp costs one multiplication and keeps what is finer than a tick. Right to 1 ns beside
 * clock_map_time() of the exact number of ticks. */
#ifndef TACHO_COLLECT_SOURCES_CUDA_CUDA_CLOCK_H
#define TACHO_COLLECT_SOURCES_CUDA_CUDA_CLOCK_H

#include <stddef.h>
#include <stdint.h>

#include "collect/core/clock_map.h"

#define CUDA_RATIO_SHIFT 62

struct cuda_clock {
    const struct clock_map *map;
    uint64_t ns_per_tick; /* wire_cuda_settings.ns_per_tick, as we gave it out */
    size_t stretch_count; /* of the map, when last looked */
    /* The stretch in use: from there, for so long. */
    uint64_t from_ns, length_ns;
    int64_t base_ns; /* report time at from_ns */
    uint64_t ratio;  /* << CUDA_RATIO_SHIFT */
};

void cuda_clock_init(struct cuda_clock *clock, const struct clock_map *map, uint64_t ns_per_tick);

/* To be called whenever the map may have got another stretch. */
void cuda_clock_refresh(struct cuda_clock *clock);

void cuda_clock_find(struct cuda_clock *clock, uint64_t ns);

/* Report time of a timestamp of CUPTI's. */
static inline int64_t cuda_clock_time(struct cuda_clock *clock, uint64_t ns)
{
    if (__builtin_expect(ns - clock->from_ns >= clock->length_ns, 0))
        cuda_clock_find(clock, ns);
    return (int64_t)((uint64_t)clock->base_ns +
                     (uint64_t)((unsigned __int128)(ns - clock->from_ns) * clock->ratio >> CUDA_RATIO_SHIFT));
}

#endif
