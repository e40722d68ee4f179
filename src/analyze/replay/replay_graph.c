/* Points are sorted by their measured time. Edges never lead back in time, so only points of the same time need a
 * search for their order: depth first, with a stack of its own, for a damaged report may have any number of them.
 *
 * The points are divided into parts, one for each worker. No moment lies in two of them. First all points get their
 * places, and then each part makes its edges, in a share of the room for all. Shares are larger than they need to be;
 * memory that is not touched costs nothing. Last, the edges of all parts are moved together. */
#include "replay_graph.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/engine/order.h"
#include "base/array.h"
#include "base/error.h"
#include "base/saturating.h"
#include "report/reader/reader.h"

/* A part has at least LEAST_POINTS points. A point usually has at most USUAL_EDGES edges; more take a second
 * attempt. */
enum {
    MOST_PARTS = 16,
    LEAST_POINTS = 1 << 16,
    USUAL_EDGES = 2,
};

int replay_graph_open(struct replay_graph *graph, size_t points)
{
    *graph = (struct replay_graph){ .points = points };
    if (points >= UINT32_MAX)
        return ERR_NO_MEMORY;
    graph->measured = array_alloc(points + 1, sizeof *graph->measured);
    graph->point = array_alloc(points + 1, sizeof *graph->point);
    return graph->measured && graph->point ? 0 : ERR_NO_MEMORY;
}

void replay_graph_free(struct replay_graph *graph)
{
    free(graph->measured);
    free(graph->first);
    free(graph->point);
    free(graph->place);
    free(graph->from);
    free(graph->lag);
    free(graph->kind);
    *graph = (struct replay_graph){ 0 };
}

int replay_graph_sort(struct replay_graph *graph)
{
    for (size_t i = 0; i < graph->points; i++)
        graph->point[i] = (uint32_t)i;
    return order_by_time(graph->point, graph->points, graph->measured);
}

/* ---- parts ----------------------------------------------------------------------------------------------------- */

struct arranging {
    struct replay_graph *graph;
    replay_graph_edges *edges_to;
    const void *context;
    int64_t *measured;     /* owned; by place */
    uint8_t *state;        /* owned; by point: see place_point() */
    struct part {
        struct arranging *arranging;
        size_t first, end; /* its places */
        uint32_t *stack;   /* owned; a point may lie on it once for each of its edges */
        size_t depth, stack_room;
        uint32_t *moment;  /* owned */
        size_t moment_room;
        size_t placed;     /* points that have their places */
        size_t edges;      /* one past its last edge, whether there is room for its edges or not */
        int code;
    } parts[MOST_PARTS];
    size_t count;
    size_t edges_of_point; /* that there is room for */
};

static int64_t replay_graph_time_of(const struct replay_graph *graph, size_t place)
{
    return graph->measured[graph->point[place]];
}

static void replay_graph_divide(struct arranging *arranging, int workers)
{
    const struct replay_graph *graph = arranging->graph;
    size_t most = graph->points / LEAST_POINTS + 1, first = 0;

    most = most < (size_t)workers ? most : (size_t)workers;
    most = most < MOST_PARTS ? most : MOST_PARTS;
    for (size_t i = 0; i < most; i++) {
        size_t end = graph->points / most * (i + 1);
        end = end < first ? first : end;
        while (end > 0 && end < graph->points &&
               replay_graph_time_of(graph, end - 1) == replay_graph_time_of(graph, end))
            end++;
        end = i + 1 == most ? graph->points : end;
        arranging->parts[arranging->count++] = (struct part){ .arranging = arranging, .first = first, .end = end };
        first = end;
    }
}

static void replay_graph_free_parts(struct arranging *arranging)
{
    for (size_t i = 0; i < arranging->count; i++) {
        struct part *part = &arranging->parts[i];
        free(part->stack);
        free(part->moment);
    }
}

static int code_of(const struct arranging *arranging)
{
    for (size_t i = 0; i < arranging->count; i++)
        if (arranging->parts[i].code != 0)
            return arranging->parts[i].code;
    return 0;
}

/* ---- places ---------------------------------------------------------------------------------------------------- */

enum { UNSEEN, ON_THE_PATH, DONE };

static int replay_graph_push(struct part *part, uint32_t point)
{
    return ARRAY_PUSH(part->stack, part->stack_room, part->depth, point);
}

/* Pushes the points of the same time that this one depends on. An edge from a point on the path closes a circle. */
static int push_earlier(struct part *part, uint32_t point)
{
    const struct arranging *arranging = part->arranging;
    const int64_t *measured = arranging->graph->measured;
    struct replay_edge edges[REPLAY_MOST_EDGES];
    size_t count = arranging->edges_to(arranging->context, point, edges);

    for (size_t i = 0; i < count; i++) {
        uint32_t from = edges[i].from;
        if (measured[from] == measured[point] && arranging->state[from] == UNSEEN && replay_graph_push(part, from) != 0)
            return ERR_NO_MEMORY;
    }
    return 0;
}

static int place_point(struct part *part, uint32_t point)
{
    uint8_t *state = part->arranging->state;

    if (replay_graph_push(part, point) != 0)
        return ERR_NO_MEMORY;
    while (part->depth) {
        uint32_t top = part->stack[part->depth - 1];
        if (state[top] == UNSEEN) {
            state[top] = ON_THE_PATH;
            if (push_earlier(part, top) != 0)
                return ERR_NO_MEMORY;
            continue;
        }
        if (state[top] == ON_THE_PATH)
            part->arranging->graph->point[part->placed++] = top;
        state[top] = DONE;
        part->depth--;
    }
    return 0;
}

/* Orders the points of one time, which lie in the places from first to end. */
static int arrange_moment(struct part *part, size_t first, size_t end)
{
    if (array_reserve(&part->moment, &part->moment_room, end - first, sizeof *part->moment) != 0)
        return ERR_NO_MEMORY;
    memcpy(part->moment, part->arranging->graph->point + first, (end - first) * sizeof *part->moment);
    part->placed = first;
    for (size_t i = 0; i < end - first; i++)
        if (place_point(part, part->moment[i]) != 0)
            return ERR_NO_MEMORY;
    return 0;
}

static int place_points(struct part *part)
{
    const struct arranging *arranging = part->arranging;
    struct replay_graph *graph = arranging->graph;

    for (size_t first = part->first, end; first < part->end; first = end) {
        int64_t time = replay_graph_time_of(graph, first);
        for (end = first + 1; end < part->end && replay_graph_time_of(graph, end) == time;)
            end++;
        if (end - first > 1 && arrange_moment(part, first, end) != 0)
            return ERR_NO_MEMORY;
        for (size_t place = first; place < end; place++) {
            graph->place[graph->point[place]] = (uint32_t)place;
            arranging->measured[place] = time;
        }
    }
    return 0;
}

static void place_part(void *argument, int worker, size_t i)
{
    struct part *part = &((struct arranging *)argument)->parts[i];

    part->code = place_points(part);
}

/* ---- edges ----------------------------------------------------------------------------------------------------- */

static size_t first_edge(const struct part *part)
{
    return part->first * part->arranging->edges_of_point;
}

static int open_edges(struct replay_graph *graph, size_t count)
{
    free(graph->from);
    free(graph->lag);
    free(graph->kind);
    graph->from = array_alloc(count + 1, sizeof *graph->from);
    graph->lag = array_alloc(count + 1, sizeof *graph->lag);
    graph->kind = array_alloc(count + 1, sizeof *graph->kind);
    return count < UINT32_MAX && graph->from && graph->lag && graph->kind ? 0 : ERR_NO_MEMORY;
}

/* Makes the edges of a part as far as there is room. An edge from a point that was measured later, or that closes a
 * circle, would come from a later place. */
static void make_part(void *argument, int worker, size_t i)
{
    struct part *part = &((struct arranging *)argument)->parts[i];
    const struct arranging *arranging = part->arranging;
    struct replay_graph *graph = arranging->graph;
    size_t next = first_edge(part), end = part->end * arranging->edges_of_point;
    struct replay_edge edges[REPLAY_MOST_EDGES];

    for (size_t place = part->first; place < part->end && next <= end; place++) {
        size_t count = arranging->edges_to(arranging->context, graph->point[place], edges);
        graph->first[place] = (uint32_t)next;
        for (size_t k = 0; k < count; k++) {
            uint32_t from = graph->place[edges[k].from];
            if (from >= place || next++ >= end)
                continue;
            graph->from[next - 1] = from;
            graph->lag[next - 1] = edges[k].lag;
            graph->kind[next - 1] = (uint8_t)edges[k].kind;
        }
    }
    part->edges = next;
}

static int replay_graph_has_room(const struct arranging *arranging)
{
    for (size_t i = 0; i < arranging->count; i++)
        if (arranging->parts[i].edges > arranging->parts[i].end * arranging->edges_of_point)
            return 0;
    return 1;
}

static int make_edges(struct arranging *arranging, const struct report *report)
{
    struct replay_graph *graph = arranging->graph;

    for (arranging->edges_of_point = USUAL_EDGES; arranging->edges_of_point <= REPLAY_MOST_EDGES;
         arranging->edges_of_point *= 2) {
        if (open_edges(graph, graph->points * arranging->edges_of_point) != 0)
            return ERR_NO_MEMORY;
        report_parallel_for(report, arranging->count, make_part, arranging);
        if (replay_graph_has_room(arranging))
            return 0;
    }
    return ERR_NO_MEMORY;
}

/* Closes the gaps between the edges of the parts. */
static void join_parts(struct arranging *arranging)
{
    struct replay_graph *graph = arranging->graph;

    for (size_t i = 0; i < arranging->count; i++) {
        const struct part *part = &arranging->parts[i];
        size_t first = first_edge(part), count = part->edges - first, gap = first - graph->edges;
        memmove(graph->from + graph->edges, graph->from + first, gap ? count * sizeof *graph->from : 0);
        memmove(graph->lag + graph->edges, graph->lag + first, gap ? count * sizeof *graph->lag : 0);
        memmove(graph->kind + graph->edges, graph->kind + first, gap ? count * sizeof *graph->kind : 0);
        for (size_t place = part->first; gap && place < part->end; place++)
            graph->first[place] -= (uint32_t)gap;
        graph->edges += count;
    }
    graph->first[graph->points] = (uint32_t)graph->edges;
}

int replay_graph_arrange(struct replay_graph *graph, const struct report *report, replay_graph_edges *edges_to,
                         const void *context)
{
    struct arranging arranging = { .graph = graph, .edges_to = edges_to, .context = context };
    int code = ERR_NO_MEMORY;

    arranging.measured = array_alloc(graph->points + 1, sizeof *arranging.measured);
    arranging.state = calloc(graph->points + 1, 1);
    graph->place = array_alloc(graph->points + 1, sizeof *graph->place);
    graph->first = array_alloc(graph->points + 1, sizeof *graph->first);
    if (!arranging.measured || !arranging.state || !graph->place || !graph->first)
        goto done;
    replay_graph_divide(&arranging, report_workers(report));
    report_parallel_for(report, arranging.count, place_part, &arranging);
    if ((code = code_of(&arranging)) != 0)
        goto done;
    free(graph->measured);
    graph->measured = arranging.measured;
    arranging.measured = NULL;
    if ((code = make_edges(&arranging, report)) != 0)
        goto done;
    join_parts(&arranging);
done:
    free(arranging.measured);
    free(arranging.state);
    replay_graph_free_parts(&arranging);
    return code;
}

/* ---- runs ------------------------------------------------------------------------------------------------------ */

struct replay_graph_span replay_graph_run(const struct replay_graph *graph, int64_t *times)
{
    const uint32_t *first = graph->first, *from = graph->from;
    const int64_t *lag = graph->lag;
    struct replay_graph_span span = { INT64_MAX, INT64_MIN, 0 };

    for (size_t place = 0; place < graph->points; place++) {
        int64_t latest = INT64_MIN;
        int is_bound = 0;
        for (uint32_t edge = first[place]; edge < first[place + 1]; edge++) {
            if (lag[edge] == REPLAY_DROPPED)
                continue;
            int64_t time = saturating_add(times[from[edge]], lag[edge]);
            latest = time > latest ? time : latest;
            is_bound = 1;
        }
        latest = is_bound ? latest : graph->measured[place];
        times[place] = latest;
        span.first_ns = latest < span.first_ns ? latest : span.first_ns;
        if (latest > span.last_ns) {
            span.last_ns = latest;
            span.last = (uint32_t)place;
        }
    }
    return span;
}

void replay_graph_path(const struct replay_graph *graph, const int64_t *times, uint32_t place,
                       replay_graph_visit *visit, void *context)
{
    for (uint32_t edge = graph->first[place]; edge < graph->first[place + 1];) {
        int64_t lag = graph->lag[edge];
        if (lag == REPLAY_DROPPED || saturating_add(times[graph->from[edge]], lag) != times[place]) {
            edge++;
            continue;
        }
        visit(context, (enum replay_kind)graph->kind[edge], lag, graph->point[place]);
        place = graph->from[edge];
        edge = graph->first[place];
    }
}
