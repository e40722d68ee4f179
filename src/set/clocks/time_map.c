/* Piecewise-linear maps of time. All arithmetic is on differences and saturates, so that any input is allowed. */
#include "time_map.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/saturating.h"

#define EXACT_DISTANCE_NS (INT64_C(1) << 50)

/* ---- Evaluation ------------------------------------------------------------------------------------------------ */

/* The knot whose line holds at a time: the last one that is not after it, but not the very last. */
static size_t knot_before(const struct time_map *map, int64_t own_ns)
{
    return BISECT(1, map->knot_count - 1, i, map->knots[i].own_ns <= own_ns) - 1;
}

/* distance × gained / own. Floating point is faster, and exact enough up to 13 days: within a ns. */
static int64_t gain(int64_t distance, int64_t gained, int64_t own)
{
    if (distance > -EXACT_DISTANCE_NS && distance < EXACT_DISTANCE_NS)
        return saturating_from_double((double)distance * ((double)gained / (double)own));
    __int128 product = (__int128)distance * gained / own;
    return product > INT64_MAX ? INT64_MAX : product < INT64_MIN ? INT64_MIN : (int64_t)product;
}

/* The line through two knots: a constant offset is exact. */
static int64_t on_line(const struct clock_knot *a, const struct clock_knot *b, int64_t own_ns)
{
    int64_t distance = saturating_subtract(own_ns, a->own_ns), own = saturating_subtract(b->own_ns, a->own_ns);
    int64_t gained = saturating_subtract(saturating_subtract(b->set_ns, a->set_ns), own);
    return saturating_add(a->set_ns, saturating_add(distance, gain(distance, gained, own)));
}

static int64_t limited(int64_t value, int64_t least, int64_t most)
{
    return value < least ? least : value > most ? most : value;
}

/* Beyond the knots the line goes on; no clock is twice as fast as another, so hostile knots end there. Rounding never
 * makes time run backwards. */
int64_t time_map_at(const struct time_map *map, int64_t own_ns)
{
    const struct clock_knot *first = &map->knots[0], *last = &map->knots[map->knot_count - 1];
    if (map->knot_count == 1)
        return saturating_add(first->set_ns, saturating_subtract(own_ns, first->own_ns));
    const struct clock_knot *a = &map->knots[knot_before(map, own_ns)], *b = a + 1;
    int64_t at = on_line(a, b, own_ns);
    if (own_ns < first->own_ns) {
        int64_t distance = saturating_subtract(own_ns, first->own_ns);
        return limited(at, saturating_add(first->set_ns, saturating_multiply(distance, 2)),
                       saturating_add(first->set_ns, distance / 2));
    }
    if (own_ns > last->own_ns) {
        int64_t distance = saturating_subtract(own_ns, last->own_ns);
        return limited(at, saturating_add(last->set_ns, distance / 2),
                       saturating_add(last->set_ns, saturating_multiply(distance, 2)));
    }
    return limited(at, a->set_ns, b->set_ns);
}

/* ---- Making ---------------------------------------------------------------------------------------------------- */

static int by_own_time(const void *a, const void *b)
{
    const struct clock_knot *x = a, *y = b;
    return COMPARE(x->own_ns, y->own_ns) ?: COMPARE(x->set_ns, y->set_ns);
}

/* Keeps knots that lie after the last one on both axes. */
static size_t keep_increasing(struct clock_knot *knots, size_t count)
{
    size_t kept = 0;
    for (size_t i = 0; i < count; i++)
        if (!kept || (knots[i].own_ns > knots[kept - 1].own_ns && knots[i].set_ns > knots[kept - 1].set_ns))
            knots[kept++] = knots[i];
    return kept;
}

/* The knot between two that is farthest from their line, if it is farther than the tolerance; else 0. */
static size_t farthest(const struct clock_knot *knots, size_t first, size_t last, int64_t tolerance_ns)
{
    size_t found = 0;
    int64_t most = tolerance_ns;
    for (size_t i = first + 1; i < last; i++) {
        int64_t away = saturating_subtract(knots[i].set_ns, on_line(&knots[first], &knots[last], knots[i].own_ns));
        away = away < 0 ? saturating_subtract(0, away) : away;
        if (away > most) {
            most = away;
            found = i;
        }
    }
    return found;
}

/* Ramer, Douglas and Peucker. `stack` has room for as many numbers as there are knots; it holds the ends of spans yet
 * to be looked at, the next one last. The knots that are kept move to the front. */
static size_t time_map_simplify(struct clock_knot *knots, size_t count, int64_t tolerance_ns, size_t *stack)
{
    size_t first = 0, kept = 1, depth = 1;
    stack[0] = count - 1;
    while (depth) {
        size_t last = stack[depth - 1], middle = farthest(knots, first, last, tolerance_ns);
        if (middle) {
            stack[depth++] = middle;
            continue;
        }
        first = last;
        depth--;
        stack[count - kept] = last; /* from the back: `depth` and `kept` together never exceed `count` */
        kept++;
    }
    for (size_t i = 1; i < kept; i++)
        knots[i] = knots[stack[count - i]];
    return kept;
}

/* Whether all knots have the same offset, up to the tolerance. */
static int time_map_is_constant(const struct clock_knot *knots, size_t count, int64_t tolerance_ns)
{
    int64_t least = INT64_MAX, most = INT64_MIN;
    for (size_t i = 0; i < count; i++) {
        int64_t offset = saturating_subtract(knots[i].set_ns, knots[i].own_ns);
        least = offset < least ? offset : least;
        most = offset > most ? offset : most;
    }
    return saturating_subtract(most, least) <= tolerance_ns;
}

int time_map_make(struct time_map *map, struct clock_knot *knots, size_t count, int64_t tolerance_ns,
                  struct arena *arena)
{
    qsort(knots, count, sizeof *knots, by_own_time);
    count = keep_increasing(knots, count);
    if (count > 1 && time_map_is_constant(knots, count, tolerance_ns)) {
        knots[0] = knots[count / 2];
        count = 1;
    } else if (count > 2) {
        size_t *stack = arena_alloc(arena, count * sizeof *stack);
        if (!stack)
            return -1;
        count = time_map_simplify(knots, count, tolerance_ns, stack);
    }
    *map = (struct time_map){ knots, count };
    return 0;
}

int time_map_identity(struct time_map *map, struct arena *arena)
{
    struct clock_knot *knot = arena_alloc_zero(arena, sizeof *knot);
    *map = (struct time_map){ knot, 1 };
    return knot ? 0 : -1;
}

int time_map_inverse(const struct time_map *map, struct time_map *inverse, struct arena *arena)
{
    struct clock_knot *knots = arena_alloc(arena, map->knot_count * sizeof *knots);
    if (!knots)
        return -1;
    for (size_t i = 0; i < map->knot_count; i++)
        knots[i] = (struct clock_knot){ map->knots[i].set_ns, map->knots[i].own_ns };
    *inverse = (struct time_map){ knots, map->knot_count };
    return 0;
}

int time_map_compose(const struct time_map *first, const struct time_map *second, int64_t tolerance_ns,
                     struct time_map *both, struct arena *arena)
{
    struct time_map back;
    size_t count = 0;
    struct clock_knot *knots = arena_alloc(arena, (first->knot_count + second->knot_count) * sizeof *knots);
    if (!knots || time_map_inverse(first, &back, arena) != 0)
        return -1;
    for (size_t i = 0; i < first->knot_count; i++)
        knots[count++] = (struct clock_knot){ first->knots[i].own_ns, time_map_at(second, first->knots[i].set_ns) };
    for (size_t i = 0; i < second->knot_count; i++)
        knots[count++] = (struct clock_knot){ time_map_at(&back, second->knots[i].own_ns), second->knots[i].set_ns };
    return time_map_make(both, knots, count, tolerance_ns, arena);
}

int time_map_copy(const struct time_map *map, struct time_map *copy, struct arena *arena)
{
    struct clock_knot *knots = arena_alloc(arena, map->knot_count * sizeof *knots);
    if (!knots)
        return -1;
    memcpy(knots, map->knots, map->knot_count * sizeof *knots);
    *copy = (struct time_map){ knots, map->knot_count };
    return 0;
}
