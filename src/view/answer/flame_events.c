/* A flame graph of the slices of a row, by how they nest: slices with the same names around them become one node with
 * the sum of their times. */
#include "flame_events.h"

#include <stdlib.h>

#include "analyze/engine/keys.h"
#include "base/array.h"
#include "base/json_write.h"
#include "view/load/event_search.h"

enum { PARENT, NAME, PARTS, ROOT = 0, MOST_OPEN = 4096 };

struct flame_events_figure {
    int64_t self_ns, total_ns;
};
struct open_slice {
    int64_t end_ns;
    uint32_t node;
};

struct flame_events_summing {
    struct view *view;
    const struct view_events *events;
    struct report_span span;
    struct keys nodes;                   /* the node around it, and the name */
    struct flame_events_figure *figures; /* owned; by node */
    size_t room;
    struct open_slice open[MOST_OPEN];   /* slices that may contain the next one, outermost first */
    size_t open_count;
    uint32_t heads[VIEW_MOST_LANES];     /* by lane: the next one */
    uint64_t count;
};

static uint32_t node_of(struct flame_events_summing *summing, int64_t parent, uint32_t name)
{
    size_t before = summing->nodes.count;
    uint32_t node = keys_add(&summing->nodes, (int64_t[PARTS]){ parent, name });

    if (node == NO_KEY ||
        array_reserve(&summing->figures, &summing->room, (size_t)node + 1, sizeof *summing->figures) != 0)
        return NO_KEY;
    if (summing->nodes.count > before)
        summing->figures[node] = (struct flame_events_figure){ 0 };
    return node;
}

/* A slice that ends before this one does contains neither this one nor any later one. */
static int flame_events_add_slice(struct flame_events_summing *summing, uint32_t event)
{
    int64_t start = summing->events->start_ns[event], end = event_end(summing->events, event);

    start = start < summing->span.from_ns ? summing->span.from_ns : start;
    end = end > summing->span.to_ns ? summing->span.to_ns : end;
    if (end < start)
        return 0;
    while (summing->open_count && (start >= summing->open[summing->open_count - 1].end_ns ||
                                   end > summing->open[summing->open_count - 1].end_ns))
        summing->open_count--;
    uint32_t parent = summing->open_count ? summing->open[summing->open_count - 1].node : ROOT;
    uint32_t node = node_of(summing, parent, event_name(summing->events, event));
    if (node == NO_KEY)
        return ERR_NO_MEMORY;
    summing->figures[node].total_ns += end - start;
    summing->figures[node].self_ns += end - start;
    if (parent == ROOT)
        summing->figures[ROOT].total_ns += end - start;
    else
        summing->figures[parent].self_ns -= end - start;
    if (summing->open_count < MOST_OPEN)
        summing->open[summing->open_count++] = (struct open_slice){ end, node };
    summing->count++;
    return 0;
}

/* The lane whose next slice comes first, the longer of two that begin together; -1 at the end. */
static int next_lane(const struct flame_events_summing *summing)
{
    const struct view_events *events = summing->events;
    int best = -1;

    for (uint32_t lane = 0; lane < events->lane_count; lane++) {
        uint32_t head = summing->heads[lane];
        if (head == events->lanes[lane + 1] || events->start_ns[head] > summing->span.to_ns)
            continue;
        if (best >= 0) {
            uint32_t other = summing->heads[best];
            int64_t start = events->start_ns[head], other_start = events->start_ns[other];
            if (start > other_start ||
                (start == other_start && event_length(events, head) <= event_length(events, other)))
                continue;
        }
        best = (int)lane;
    }
    return best;
}

/* Frames are names, each once. */
static int add_nodes(struct flame *flame, const struct flame_events_summing *summing, const char *kind)
{
    struct keys names = { .width = 1 };
    int code = 0;

    for (uint32_t node = 0; node < summing->nodes.count && node < FLAME_MOST_NODES; node++) {
        const int64_t *key = keys_get(&summing->nodes, node);
        const struct flame_events_figure *figure = &summing->figures[node];
        size_t before = names.count;
        uint32_t frame = node == ROOT ? 0 : keys_add(&names, &key[NAME]);
        if (frame == NO_KEY) {
            code = ERR_NO_MEMORY;
            goto free_names;
        }
        if (node != ROOT && frame == before) {
            json_addf(&flame->frames, "{'name':");
            flame->frame_count++;
            view_add_name(summing->view, &flame->frames, (uint32_t)key[NAME]);
            json_addf(&flame->frames, "'kind':%s}", kind);
        }
        flame_add_node(flame, key[PARENT], node == ROOT ? -1 : (int64_t)frame,
                       figure->self_ns < 0 ? 0 : figure->self_ns, figure->total_ns);
    }
free_names:
    keys_free(&names);
    return code;
}

static int add_slices(struct flame_events_summing *summing)
{
    const struct view_events *events = summing->events;
    int lane;

    for (uint32_t i = 0; i < events->lane_count; i++)
        summing->heads[i] = summing->span.from_ns == INT64_MIN ? events->lanes[i]
                                                               : events_reaching(events, i, summing->span.from_ns);
    if (node_of(summing, -1, 0) == NO_KEY)
        return ERR_NO_MEMORY;
    while ((lane = next_lane(summing)) >= 0)
        if (flame_events_add_slice(summing, summing->heads[lane]++) != 0)
            return ERR_NO_MEMORY;
    return 0;
}

int flame_of_events(struct flame *flame, struct view *view, int row, const struct report_span *span, struct error *err)
{
    struct flame_events_summing *summing = calloc(1, sizeof *summing);
    int code = 0;

    if (!summing)
        return error_short_memory(err, "for the flame graph");
    summing->view = view;
    summing->events = &view->rows[row].events;
    summing->span = *span;
    summing->nodes.width = PARTS;
    if ((add_slices(summing) != 0 ||
         add_nodes(flame, summing, view->rows[row].type == ROW_PYTHON ? "python" : "native") != 0) &&
        (code = error_short_memory(err, "for the flame graph")) != 0)
        goto free_summing;
    flame->samples = (int64_t)summing->count;
free_summing:
    keys_free(&summing->nodes);
    free(summing->figures);
    free(summing);
    return code;
}
