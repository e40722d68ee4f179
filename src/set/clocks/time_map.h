/* Piecewise-linear maps from one time to another: of a report's own time to the time of a set, and the steps between.
 */
#ifndef TACHO_SET_CLOCKS_TIME_MAP_H
#define TACHO_SET_CLOCKS_TIME_MAP_H

#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"

#define CLOCK_LIMIT_NS (INT64_C(1) << 61) /* 73 years: Unix time fits, and differences do not overflow */

struct clock_knot {
    int64_t own_ns, set_ns;
};

struct time_map {
    const struct clock_knot *knots; /* at least one; both members strictly increase; straight lines between */
    size_t knot_count;              /* and beyond. One knot: a constant offset */
};

/* Set time of an own time; saturating. */
int64_t time_map_at(const struct time_map *map, int64_t own_ns);

/* ---- For the fit ----------------------------------------------------------------------------------------------- */

static inline int clock_is_sane(int64_t ns)
{
    return ns >= -CLOCK_LIMIT_NS && ns <= CLOCK_LIMIT_NS;
}

/* All of these allocate from the arena and return -1 when memory is short.
 *
 * time_map_make() takes `knots`, from the same arena and in any order, sorts them, and leaves out those that would let
 * time stand still or run backwards. Then it leaves out those that a straight line misses by at most tolerance_ns. */
int time_map_make(struct time_map *map, struct clock_knot *knots, size_t count, int64_t tolerance_ns,
                  struct arena *arena);
int time_map_identity(struct time_map *map, struct arena *arena);
int time_map_inverse(const struct time_map *map, struct time_map *inverse, struct arena *arena);
/* first, then second. */
int time_map_compose(const struct time_map *first, const struct time_map *second, int64_t tolerance_ns,
                     struct time_map *both, struct arena *arena);
int time_map_copy(const struct time_map *map, struct time_map *copy, struct arena *arena);

#endif
