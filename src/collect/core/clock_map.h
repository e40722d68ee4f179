/* From the raw ticks in records to the report's time (ns since the capture's start).
 *
 * A map is a line broken at the moments at which ticks and CLOCK_MONOTONIC were read together. At each such pair the
 * line goes on from where it was (so time never jumps) with a slope that takes the error out until the next pair (so it
 * never drifts away), and never runs backwards. A stretch is fixed when it begins: the same ticks always give the same
 * time. One thread owns a map. */
#ifndef TACHO_COLLECT_CORE_CLOCK_MAP_H
#define TACHO_COLLECT_CORE_CLOCK_MAP_H

#include <stddef.h>
#include <stdint.h>

#include "wire/wire.h"

/* The same moment on several clocks, as well as it can be read. */
struct clock_pair {
    uint64_t ticks;
    int64_t monotonic_ns, utc_ns;
    int64_t error_ns; /* the readings are at most so far apart */
};

struct clock_stretch {
    uint64_t ticks;  /* where it begins */
    int64_t time_ns; /* there */
    uint64_t slope;  /* ns per tick << CLOCK_SLOPE_SHIFT */
};
#define CLOCK_SLOPE_SHIFT 40

#define CLOCK_PAIRS 16 /* of the past, for the slope */

struct clock_map {
    enum wire_clock clock;
    int64_t origin_ns;                    /* CLOCK_MONOTONIC at report time 0 */
    struct clock_stretch *stretches;      /* in order; at least one */
    size_t count, capacity;
    struct clock_pair pairs[CLOCK_PAIRS]; /* a ring: the last pair_count of them */
    uint64_t pair_count;
};

/* Reads ticks and clocks several times and keeps the closest reading. */
struct clock_pair clock_read_pair(enum wire_clock clock);

/* The counter if it is invariant, else CLOCK_MONOTONIC. */
enum wire_clock clock_choose(void);

/* From two pairs, the second of them later; report time 0 is at `second`. -1 when memory is short. */
int clock_map_init(struct clock_map *map, enum wire_clock clock, const struct clock_pair *first,
                   const struct clock_pair *second);
void clock_map_free(struct clock_map *map);

/* A newer pair; next_ns: how far away the one after it is planned. When memory is short the old line goes on. */
void clock_map_add(struct clock_map *map, const struct clock_pair *pair, int64_t next_ns);

int64_t clock_map_time_slow(const struct clock_map *map, uint64_t ticks);

static inline int64_t clock_stretch_time(const struct clock_stretch *stretch, uint64_t ticks)
{
    /* Unsigned, since ticks from a damaged record may be anything. */
    return (int64_t)((uint64_t)stretch->time_ns +
                     (uint64_t)(((__int128)(int64_t)(ticks - stretch->ticks) * stretch->slope) >> CLOCK_SLOPE_SHIFT));
}

/* Report time of a tick: monotone in ticks. */
static inline int64_t clock_map_time(const struct clock_map *map, uint64_t ticks)
{
    const struct clock_stretch *last = &map->stretches[map->count - 1];
    if (__builtin_expect((int64_t)(ticks - last->ticks) >= 0, 1))
        return clock_stretch_time(last, ticks);
    return clock_map_time_slow(map, ticks);
}

/* CLOCK_MONOTONIC to report time, and a length of time to ticks at the present rate. */
static inline int64_t clock_map_monotonic(const struct clock_map *map, int64_t monotonic_ns)
{
    return monotonic_ns - map->origin_ns;
}

/* ns per tick at the present rate, << CLOCK_SLOPE_SHIFT. */
static inline uint64_t clock_map_slope(const struct clock_map *map)
{
    return map->stretches[map->count - 1].slope;
}
uint64_t clock_map_ticks_in(const struct clock_map *map, int64_t ns);

#endif
