/* Order and lanes of a row's events.
 *
 * Events are taken by start, the longest first of equal starts, and each goes to the first lane in which the event
 * before has ended. For ranges that nest, the lane is the depth; other events get as many lanes as overlap at once, and
 * none is left out. The first free lane comes from a tree over the ends of the lanes (each node has the least of its
 * two halves), so that ten thousand overlapping events cost ten thousand times a logarithm. */
#include "lanes.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/engine/order.h"
#include "base/array.h"
#include "event_index.h"
#include "event_search.h"

void events_free(struct view_events *events)
{
    free(events->start_ns);
    free(events->length_ns);
    free(events->name);
    free(events->table_row);
    free(events->tag);
    free(events->longer);
    free(events->lanes);
    index_free(events->index);
    *events = (struct view_events){ 0 };
}

int events_allocate(struct view_events *events, uint32_t count, uint32_t long_count)
{
    *events = (struct view_events){ 0 };
    events->start_ns = malloc(((size_t)count + 1) * sizeof *events->start_ns);
    events->length_ns = malloc(((size_t)count + 1) * sizeof *events->length_ns);
    events->name = malloc(((size_t)count + 1) * sizeof *events->name);
    events->table_row = malloc(((size_t)count + 1) * sizeof *events->table_row);
    events->tag = malloc(((size_t)count + 1) * sizeof *events->tag);
    events->longer = malloc(((size_t)long_count + 1) * sizeof *events->longer);
    if (events->start_ns && events->length_ns && events->name && events->table_row && events->tag && events->longer)
        return 0;
    events_free(events);
    return ERR_NO_MEMORY;
}

/* ---- order ----------------------------------------------------------------------------------------------------- */

static int lanes_by_length(const void *a, const void *b, void *context)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    int64_t x_ns = event_length(context, x), y_ns = event_length(context, y);

    return COMPARE(y_ns, x_ns) ?: COMPARE(x, y);
}

/* By start; the longest first of equal starts. */
static int sort_events(struct view_events *events, uint32_t *order)
{
    if (order_by_time(order, events->count, events->start_ns) != 0)
        return ERR_NO_MEMORY;
    for (uint32_t from = 0, to; from < events->count; from = to) {
        for (to = from + 1; to < events->count && events->start_ns[order[to]] == events->start_ns[order[from]]; to++)
            ;
        if (to - from > 1)
            qsort_r(order + from, to - from, sizeof *order, lanes_by_length, events);
    }
    return 0;
}

/* ---- lanes ----------------------------------------------------------------------------------------------------- */

struct lane_tree {
    int64_t *ends;  /* owned; leaf i, at size + i, is lane i; node n is the lesser of 2n and 2n + 1 */
    uint32_t size;  /* leaves, a power of two; those beyond `count` are free from INT64_MIN on */
    uint32_t count; /* lanes in use */
};

static int tree_grow(struct lane_tree *tree)
{
    uint32_t size = tree->size ? 2 * tree->size : 8;
    int64_t *ends = malloc(2 * (size_t)size * sizeof *ends);

    if (!ends)
        return ERR_NO_MEMORY;
    for (uint32_t i = 0; i < size; i++)
        ends[size + i] = i < tree->size ? tree->ends[tree->size + i] : INT64_MIN;
    for (uint32_t i = size - 1; i > 0; i--)
        ends[i] = ends[2 * i] < ends[2 * i + 1] ? ends[2 * i] : ends[2 * i + 1];
    free(tree->ends);
    tree->ends = ends;
    tree->size = size;
    return 0;
}

/* The lane for an event. There is always a leaf that is free: the tree grows when its last one is taken. */
static uint32_t tree_take(struct lane_tree *tree, int64_t start, int64_t end)
{
    uint32_t node = 1;

    while (node < tree->size)
        node = 2 * node + (tree->ends[2 * node] > start);
    uint32_t lane = node - tree->size;
    tree->ends[node] = end;
    for (node /= 2; node > 0; node /= 2)
        tree->ends[node] = tree->ends[2 * node] < tree->ends[2 * node + 1] ? tree->ends[2 * node]
                                                                           : tree->ends[2 * node + 1];
    tree->count = lane >= tree->count ? lane + 1 : tree->count;
    return lane;
}

/* lane[i] of the event order[i]. */
static int find_lanes(const struct view_events *events, const uint32_t *order, uint32_t *lane, uint32_t *lane_count)
{
    struct lane_tree tree = { 0 };
    int code = 0;

    for (uint32_t i = 0; i < events->count; i++) {
        if (tree.count == tree.size && (code = tree_grow(&tree)) != 0)
            goto free_tree;
        lane[i] = tree_take(&tree, events->start_ns[order[i]], event_end(events, order[i]));
    }
    *lane_count = tree.count;
free_tree:
    free(tree.ends);
    return code;
}

/* ---- arrangement ----------------------------------------------------------------------------------------------- */

static int is_one_lane(const struct view_events *events)
{
    for (uint32_t i = 1; i < events->count; i++)
        if (events->start_ns[i] < event_end(events, i - 1) || (events->start_ns[i] == events->start_ns[i - 1]))
            return 0;
    return 1;
}

#define PERMUTE(field)                                                        \
    do {                                                                      \
        void *moved = malloc(((size_t)events->count + 1) * sizeof *(field));  \
        if (!moved)                                                           \
            return ERR_NO_MEMORY;                                             \
        __typeof__(field) to = moved;                                         \
        for (uint32_t i = 0; i < events->count; i++)                          \
            to[i] = (field)[order[i]];                                        \
        free(field);                                                          \
        (field) = to;                                                         \
    } while (0)

static int permute(struct view_events *events, const uint32_t *order)
{
    struct view_long *longer = malloc(((size_t)events->long_count + 1) * sizeof *longer);
    uint32_t count = 0;

    if (!longer)
        return ERR_NO_MEMORY;
    for (uint32_t i = 0; i < events->count && events->long_count; i++)
        if (events->length_ns[order[i]] == LENGTH_IS_LONG)
            longer[count++] = (struct view_long){ i, events_long_length(events, order[i]) };
    free(events->longer);
    events->longer = longer;
    PERMUTE(events->start_ns);
    PERMUTE(events->length_ns);
    PERMUTE(events->name);
    PERMUTE(events->table_row);
    PERMUTE(events->tag);
    return 0;
}

/* Brings the events into their order and fills lanes. */
static int lanes_lay_out(struct view_events *events, uint32_t *order, uint32_t *lane)
{
    if (sort_events(events, order) != 0 || find_lanes(events, order, lane, &events->lane_count) != 0 ||
        !(events->lanes = calloc((size_t)events->lane_count + 2, sizeof *events->lanes)))
        return ERR_NO_MEMORY;
    /* lanes[l]: where the next event of lane l goes; in the end, where those of l end */
    uint32_t *lanes = events->lanes + 1;
    for (uint32_t i = 0; i < events->count; i++)
        lanes[lane[i] + 1]++;
    for (uint32_t l = 1; l < events->lane_count; l++)
        lanes[l] += lanes[l - 1];
    uint32_t *placed = malloc(((size_t)events->count + 1) * sizeof *placed);
    if (!placed)
        return ERR_NO_MEMORY;
    for (uint32_t i = 0; i < events->count; i++)
        placed[lanes[lane[i]]++] = order[i];
    int code = permute(events, placed);
    free(placed);
    return code;
}

/* The lanes first … first + count - 1 as events of their own. */
static int cut_lanes(const struct view_events *whole, uint32_t first, uint32_t count, struct view_events *part)
{
    uint32_t from = whole->lanes[first], to = whole->lanes[first + count];
    uint32_t long_from = events_long_from(whole, from), long_to = events_long_from(whole, to);

    if (events_allocate(part, to - from, long_to - long_from) != 0 ||
        !(part->lanes = malloc((count + 1) * sizeof *part->lanes)))
        return ERR_NO_MEMORY;
    part->count = to - from;
    memcpy(part->start_ns, whole->start_ns + from, part->count * sizeof *part->start_ns);
    memcpy(part->length_ns, whole->length_ns + from, part->count * sizeof *part->length_ns);
    memcpy(part->name, whole->name + from, part->count * sizeof *part->name);
    memcpy(part->table_row, whole->table_row + from, part->count * sizeof *part->table_row);
    memcpy(part->tag, whole->tag + from, part->count * sizeof *part->tag);
    for (uint32_t i = long_from; i < long_to; i++)
        part->longer[part->long_count++] = (struct view_long){ whole->longer[i].event - from,
                                                               whole->longer[i].length_ns };
    for (uint32_t lane = 0; lane <= count; lane++)
        part->lanes[lane] = whole->lanes[first + lane] - from;
    part->lane_count = count;
    return 0;
}

static int lanes_split(struct view_events *whole, struct view_events **parts, size_t *part_count)
{
    size_t count = (whole->lane_count + VIEW_MOST_LANES - 1) / VIEW_MOST_LANES;

    *parts = calloc(count ? count : 1, sizeof **parts);
    if (!*parts)
        return ERR_NO_MEMORY;
    *part_count = count;
    if (count <= 1) {
        **parts = *whole;
        *whole = (struct view_events){ 0 };
        return 0;
    }
    for (size_t i = 0; i < count; i++) {
        uint32_t first = (uint32_t)i * VIEW_MOST_LANES, rest = whole->lane_count - first;
        if (cut_lanes(whole, first, rest < VIEW_MOST_LANES ? rest : VIEW_MOST_LANES, &(*parts)[i]) != 0)
            return ERR_NO_MEMORY;
    }
    return 0;
}

static int lay_into_one_lane(struct view_events *events)
{
    events->lanes = malloc(2 * sizeof *events->lanes);
    if (!events->lanes)
        return ERR_NO_MEMORY;
    events->lane_count = 1;
    events->lanes[0] = 0;
    events->lanes[1] = events->count;
    return 0;
}

static int lay_into_lanes(struct view_events *events)
{
    uint32_t *order = malloc(((size_t)events->count + 1) * sizeof *order);
    uint32_t *lane = malloc(((size_t)events->count + 1) * sizeof *lane);
    int code = ERR_NO_MEMORY;

    if (!order || !lane)
        goto done;
    for (uint32_t i = 0; i < events->count; i++)
        order[i] = i;
    code = lanes_lay_out(events, order, lane);
done:
    free(order);
    free(lane);
    return code;
}

int events_arrange(struct view_events *raw, struct view_events **parts, size_t *part_count)
{
    int code;

    *parts = NULL;
    *part_count = 0;
    if ((code = is_one_lane(raw) ? lay_into_one_lane(raw) : lay_into_lanes(raw)) != 0)
        goto free_raw;
    code = lanes_split(raw, parts, part_count);
free_raw:
    events_free(raw);
    return code;
}

/* Order and lanes stay as they are: all events outside the span move to the same end of it. */
int events_cut(struct view_events *events, int64_t least_ns, int64_t most_ns)
{
    for (uint32_t i = 0; i < events->count; i++) {
        int64_t end = event_end(events, i);
        int64_t start = events->start_ns[i] < least_ns  ? least_ns
                        : events->start_ns[i] > most_ns ? most_ns
                                                        : events->start_ns[i];
        end = end < least_ns ? least_ns : end > most_ns ? most_ns : end;
        if (events->length_ns[i] == LENGTH_IS_LONG)
            events->longer[events_long_from(events, i)].length_ns = end - start;
        else
            events->length_ns[i] = (uint32_t)(end - start);
        events->start_ns[i] = start;
    }
    return index_build(events);
}
