/* The points of counters: see counter_points.h. */
#include "counter_points.h"

#include <stdlib.h>

#include "analyze/engine/order.h"
#include "base/array.h"
#include "gather.h"

enum { BLOCK_BITS = 4, BLOCK = 1 << BLOCK_BITS, MOST_LEVELS = 8 };

struct view_pyramid {
    struct points_range *ranges[MOST_LEVELS]; /* owned; level l has one for BLOCK^(l + 1) points */
    int levels;
};

static void pyramid_free(struct view_pyramid *pyramid)
{
    for (int level = 0; pyramid && level < pyramid->levels; level++)
        free(pyramid->ranges[level]);
    free(pyramid);
}

void points_free(struct view_points *points)
{
    free(points->time_ns);
    free(points->value);
    pyramid_free(points->pyramid);
    *points = (struct view_points){ 0 };
}

static struct points_range joined(struct points_range a, struct points_range b)
{
    return (struct points_range){ a.min < b.min ? a.min : b.min, a.max > b.max ? a.max : b.max };
}

/* Entry i of a level; level -1 are the points themselves. */
static struct points_range range_at(const struct view_points *points, int level, uint32_t i)
{
    return level < 0 ? (struct points_range){ points->value[i], points->value[i] } : points->pyramid->ranges[level][i];
}

static int counter_points_build(struct view_points *points)
{
    struct view_pyramid *pyramid = points->pyramid = calloc(1, sizeof *pyramid);
    uint32_t below = points->count;

    if (!pyramid)
        return ERR_NO_MEMORY;
    for (int level = 0; below > BLOCK; level++) {
        uint32_t count = (below >> BLOCK_BITS) + ((below & (BLOCK - 1)) != 0);
        struct points_range *ranges = malloc(count * sizeof *ranges);
        if (!ranges)
            return ERR_NO_MEMORY;
        pyramid->ranges[level] = ranges;
        pyramid->levels++;
        for (uint32_t i = 0; i < below; i++) {
            struct points_range range = range_at(points, level - 1, i);
            ranges[i >> BLOCK_BITS] = i & (BLOCK - 1) ? joined(ranges[i >> BLOCK_BITS], range) : range;
        }
        below = count;
    }
    return 0;
}

int points_add(struct view_points *points, int64_t time_ns, double value)
{
    size_t wanted = (size_t)points->count + 1, room = points->capacity;

    if (wanted >= UINT32_MAX || array_reserve(&points->time_ns, &room, wanted, sizeof *points->time_ns) != 0 ||
        array_reserve(&points->value, &points->capacity, wanted, sizeof *points->value) != 0)
        return ERR_NO_MEMORY;
    points->time_ns[points->count] = gather_within(time_ns);
    points->value[points->count++] = value;
    return 0;
}

/* Replaces the points by the same in the order of time. */
static int counter_points_sort(struct view_points *points)
{
    uint32_t *order = malloc(((size_t)points->count + 1) * sizeof *order);
    int64_t *times = malloc(((size_t)points->count + 1) * sizeof *times);
    double *values = malloc(((size_t)points->count + 1) * sizeof *values);
    int code = ERR_NO_MEMORY;

    if (!order || !times || !values)
        goto done;
    for (uint32_t i = 0; i < points->count; i++)
        order[i] = i;
    if ((code = order_by_time(order, points->count, points->time_ns)) != 0)
        goto done;
    for (uint32_t i = 0; i < points->count; i++) {
        times[i] = points->time_ns[order[i]];
        values[i] = points->value[order[i]];
    }
    free(points->time_ns);
    free(points->value);
    points->time_ns = times;
    points->value = values;
    points->capacity = points->count;
    times = NULL;
    values = NULL;
done:
    free(order);
    free(times);
    free(values);
    return code;
}

int points_arrange(struct view_points *points, int is_sum)
{
    int code;

    if ((code = counter_points_sort(points)) != 0)
        return code;
    for (uint32_t i = 1; is_sum && i < points->count; i++)
        points->value[i] += points->value[i - 1];
    if ((code = counter_points_build(points)) != 0)
        return code;
    if (points->count) {
        struct points_range all = points_range(points, 0, points->count);
        points->min = all.min;
        points->max = all.max;
    }
    return 0;
}

void points_cut(struct view_points *points, int64_t least_ns, int64_t most_ns)
{
    for (uint32_t i = 0; i < points->count; i++)
        points->time_ns[i] = points->time_ns[i] < least_ns  ? least_ns
                             : points->time_ns[i] > most_ns ? most_ns
                                                            : points->time_ns[i];
}

uint32_t points_from(const struct view_points *points, int64_t time_ns)
{
    return (uint32_t)array_first_not_before(points->time_ns, points->count, time_ns);
}

static struct points_range range_of_level(const struct view_points *points, int level, uint32_t from, uint32_t to,
                                          struct points_range range)
{
    if (level + 1 < points->pyramid->levels && to - from > 2 * BLOCK) {
        for (; from & (BLOCK - 1); from++)
            range = joined(range, range_at(points, level, from));
        range = range_of_level(points, level + 1, from >> BLOCK_BITS, to >> BLOCK_BITS, range);
        from = to & ~(uint32_t)(BLOCK - 1);
    }
    for (; from < to; from++)
        range = joined(range, range_at(points, level, from));
    return range;
}

struct points_range points_range(const struct view_points *points, uint32_t from, uint32_t to)
{
    return range_of_level(points, -1, from, to, range_at(points, -1, from));
}
