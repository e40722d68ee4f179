/* The map from ticks to report time: reads pairs and starts a new stretch at each. See clock_map.h. */
#include "clock_map.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/clock.h"

#define READINGS 8
#define SLOPE_ONE ((double)(UINT64_C(1) << CLOCK_SLOPE_SHIFT))
#define CORRECTION_MAX 0.5 /* of the slope: a larger correction could make time run backwards */

static uint64_t read_ticks(enum wire_clock clock)
{
    return clock == WIRE_CLOCK_COUNTER ? clock_ticks() : (uint64_t)clock_monotonic_ns();
}

enum wire_clock clock_choose(void)
{
    return clock_ticks_invariant() ? WIRE_CLOCK_COUNTER : WIRE_CLOCK_MONOTONIC;
}

struct clock_pair clock_read_pair(enum wire_clock clock)
{
    struct clock_pair best = { .error_ns = INT64_MAX };
    uint64_t best_width = UINT64_MAX;
    for (int i = 0; i < READINGS; i++) {
        int64_t monotonic_before = clock_monotonic_ns();
        uint64_t before = read_ticks(clock);
        int64_t monotonic = clock_monotonic_ns();
        uint64_t after = read_ticks(clock);
        int64_t utc = clock_utc_ns();
        int64_t monotonic_after = clock_monotonic_ns();
        if (after - before >= best_width)
            continue;
        best_width = after - before;
        best = (struct clock_pair){
            .ticks = before + (after - before) / 2,
            .monotonic_ns = monotonic,
            .utc_ns = utc - (monotonic_after - monotonic_before) / 2,
            .error_ns = monotonic_after - monotonic_before,
        };
    }
    return best;
}

/* ns per tick between two pairs. */
static double rate_between(const struct clock_pair *first, const struct clock_pair *second)
{
    double ticks = (double)(int64_t)(second->ticks - first->ticks);
    double ns = (double)(second->monotonic_ns - first->monotonic_ns);
    return ticks > 0 && ns > 0 ? ns / ticks : 1.0;
}

int clock_map_init(struct clock_map *map, enum wire_clock clock, const struct clock_pair *first,
                   const struct clock_pair *second)
{
    memset(map, 0, sizeof *map);
    map->clock = clock;
    if (array_reserve(&map->stretches, &map->capacity, 1, sizeof *map->stretches) != 0)
        return -1;
    map->origin_ns = second->monotonic_ns;
    map->stretches[0] = (struct clock_stretch){ second->ticks, 0, (uint64_t)(rate_between(first, second) * SLOPE_ONE) };
    map->count = 1;
    map->pairs[0] = *first;
    map->pairs[1] = *second;
    map->pair_count = 2;
    return 0;
}

void clock_map_free(struct clock_map *map)
{
    free(map->stretches);
    memset(map, 0, sizeof *map);
}

static const struct clock_pair *oldest_pair(const struct clock_map *map)
{
    return &map->pairs[map->pair_count > CLOCK_PAIRS ? map->pair_count % CLOCK_PAIRS : 0];
}

void clock_map_add(struct clock_map *map, const struct clock_pair *pair, int64_t next_ns)
{
    if ((int64_t)(pair->ticks - map->stretches[map->count - 1].ticks) <= 0 ||
        array_reserve(&map->stretches, &map->capacity, map->count + 1, sizeof *map->stretches) != 0)
        return;
    int64_t here = clock_stretch_time(&map->stretches[map->count - 1], pair->ticks);
    double rate = rate_between(oldest_pair(map), pair);
    double error = (double)(clock_map_monotonic(map, pair->monotonic_ns) - here);
    double correction = next_ns > 0 ? error / (double)next_ns : 0;
    if (correction > CORRECTION_MAX)
        correction = CORRECTION_MAX;
    if (correction < -CORRECTION_MAX)
        correction = -CORRECTION_MAX;
    map->stretches[map->count++] = (struct clock_stretch){ pair->ticks, here,
                                                           (uint64_t)(rate * (1 + correction) * SLOPE_ONE) };
    map->pairs[map->pair_count++ % CLOCK_PAIRS] = *pair;
}

int64_t clock_map_time_slow(const struct clock_map *map, uint64_t ticks)
{
    /* The last stretch that begins at or before ticks, else the first. */
    size_t last = BISECT(1, map->count, i, (int64_t)(ticks - map->stretches[i].ticks) >= 0) - 1;
    return clock_stretch_time(&map->stretches[last], ticks);
}

uint64_t clock_map_ticks_in(const struct clock_map *map, int64_t ns)
{
    return (uint64_t)(((__int128)ns << CLOCK_SLOPE_SHIFT) / map->stretches[map->count - 1].slope);
}

int64_t clock_map_ns_in(const struct clock_map *map, uint64_t ticks)
{
    return (int64_t)((((unsigned __int128)ticks * clock_map_slope(map)) >> CLOCK_SLOPE_SHIFT) & INT64_MAX);
}
