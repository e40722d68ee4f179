/* CUPTI's timestamps to report time: see cuda_clock.h. */
#include "cuda_clock.h"

#include "wire/wire_cuda.h"

void cuda_clock_init(struct cuda_clock *clock, const struct clock_map *map, uint64_t ns_per_tick)
{
    *clock = (struct cuda_clock){ .map = map,
                                  .ns_per_tick = ns_per_tick ? ns_per_tick : UINT64_C(1) << WIRE_SCALE_SHIFT };
}

void cuda_clock_refresh(struct cuda_clock *clock)
{
    if (clock->stretch_count == clock->map->count)
        return;
    clock->stretch_count = clock->map->count;
    clock->length_ns = 0; /* no timestamp is in an empty stretch, so the next one looks up its own */
}

static uint64_t cuda_clock_begin_of(const struct cuda_clock *clock, size_t stretch)
{
    return wire_cuda_time(clock->map->stretches[stretch].ticks, clock->ns_per_tick);
}

static uint64_t ratio_of(const struct cuda_clock *clock, const struct clock_stretch *stretch)
{
    unsigned __int128 ratio = ((unsigned __int128)stretch->slope << CUDA_RATIO_SHIFT) / clock->ns_per_tick;
    return ratio > UINT64_MAX ? UINT64_MAX : (uint64_t)ratio;
}

void cuda_clock_find(struct cuda_clock *clock, uint64_t ns)
{
    size_t at = BISECT(1, clock->map->count, i, ns >= cuda_clock_begin_of(clock, i)) - 1;
    const struct clock_stretch *stretch = &clock->map->stretches[at];
    clock->ratio = ratio_of(clock, stretch);
    clock->from_ns = cuda_clock_begin_of(clock, at);
    clock->base_ns = stretch->time_ns;
    clock->length_ns = (at + 1 < clock->map->count ? cuda_clock_begin_of(clock, at + 1) : UINT64_MAX) - clock->from_ns;
    if (ns < clock->from_ns) { /* before the first stretch: its line is extended back to CUPTI's zero */
        clock->base_ns -= (int64_t)((unsigned __int128)clock->from_ns * clock->ratio >> CUDA_RATIO_SHIFT);
        clock->length_ns = clock->from_ns;
        clock->from_ns = 0;
    }
}
