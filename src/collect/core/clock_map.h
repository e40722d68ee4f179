/* Maps the raw ticks in records to report time (ns since the start of the capture).
 *
 * The map is piecewise linear. It breaks where ticks and CLOCK_MONOTONIC were read together (a pair). At a pair the
 * line continues from its current value, so time never jumps. The new slope removes the error until the next pair, so
 * time never drifts away; and it is always positive, so time never runs backwards. A stretch is fixed when it begins:
 * the same ticks always give the same time. One thread owns a map. */
#ifndef TACHO_COLLECT_CORE_CLOCK_MAP_H
#define TACHO_COLLECT_CORE_CLOCK_MAP_H

#include <stddef.h>
#include <stdint.h>

#include "wire/wire.h"

/* The same moment on several clocks, as closely as it can be read. */
struct clock_pair {
    uint64_t ticks;
    int64_t monotonic_ns, utc_ns;
    int64_t error_ns; /* the readings are at most this far apart */
};

struct clock_stretch {
    uint64_t ticks;  /* its start */
    int64_t time_ns; /* report time at its start */
    uint64_t slope;  /* ns per tick << CLOCK_SLOPE_SHIFT */
};
#define CLOCK_SLOPE_SHIFT 40

#define CLOCK_PAIRS 16 /* past pairs that the slope is computed from */

struct clock_map {
    enum wire_clock clock;
    int64_t origin_ns;                    /* CLOCK_MONOTONIC at report time 0 */
    struct clock_stretch *stretches;      /* in order; at least one */
    size_t count, capacity;
    struct clock_pair pairs[CLOCK_PAIRS]; /* a ring buffer: the last pair_count of them */
    uint64_t pair_count;
};

/* Reads ticks and clocks several times and returns the tightest reading. */
struct clock_pair clock_read_pair(enum wire_clock clock);

/* The CPU's counter if it is invariant, else CLOCK_MONOTONIC. */
enum wire_clock clock_choose(void);

/* Starts a map from two pairs, the second one later. Report time 0 is at `second`. -1: out of memory. */
int clock_map_init(struct clock_map *map, enum wire_clock clock, const struct clock_pair *first,
                   const struct clock_pair *second);
void clock_map_free(struct clock_map *map);

/* Adds a newer pair. next_ns: the planned time until the pair after it. Without memory the old line continues. */
void clock_map_add(struct clock_map *map, const struct clock_pair *pair, int64_t next_ns);

int64_t clock_map_time_slow(const struct clock_map *map, uint64_t ticks);

static inline int64_t clock_stretch_time(const struct clock_stretch *stretch, uint64_t ticks)
{
    /* Unsigned arithmetic: ticks of a damaged record may have any value, and signed overflow is undefined. */
    return (int64_t)((uint64_t)stretch->time_ns +
                     (uint64_t)(((__int128)(int64_t)(ticks - stretch->ticks) * stretch->slope) >> CLOCK_SLOPE_SHIFT));
}

/* Report time of a tick count; monotonic in ticks. */
static inline int64_t clock_map_time(const struct clock_map *map, uint64_t ticks)
{
    const struct clock_stretch *last = &map->stretches[map->count - 1];
    if (__builtin_expect((int64_t)(ticks - last->ticks) >= 0, 1))
        return clock_stretch_time(last, ticks);
    return clock_map_time_slow(map, ticks);
}

/* Report time of a CLOCK_MONOTONIC time. */
static inline int64_t clock_map_monotonic(const struct clock_map *map, int64_t monotonic_ns)
{
    return monotonic_ns - map->origin_ns;
}

/* The current slope: ns per tick << CLOCK_SLOPE_SHIFT. clock_map_ticks_in() converts a duration to ticks at this
 * slope. */
static inline uint64_t clock_map_slope(const struct clock_map *map)
{
    return map->stretches[map->count - 1].slope;
}
uint64_t clock_map_ticks_in(const struct clock_map *map, int64_t ns);
int64_t clock_map_ns_in(const struct clock_map *map, uint64_t ticks); /* the reverse */

#endif
