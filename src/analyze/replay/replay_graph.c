/* Points are sorted by their measured time. Edges never lead back in time, so only points of the same time need a
 * search for their order: depth first, with a stack of its own, for a damaged report may have any number of them. */
#include "replay_graph.h"

#include <stdlib.h>

#include "analyze/engine/order.h"
#include "base/array.h"
#include "base/error.h"
#include "base/saturating.h"

int replay_graph_open(struct replay_graph *graph, size_t points)
{
    *graph = (struct replay_graph){ .points = points };
    if (points >= UINT32_MAX)
        return ERR_NO_MEMORY;
    graph->measured = malloc((points + 1) * sizeof *graph->measured);
    graph->first = malloc((points + 1) * sizeof *graph->first);
    graph->point = malloc((points + 1) * sizeof *graph->point);
    graph->place = malloc((points + 1) * sizeof *graph->place);
    return graph->measured && graph->first && graph->point && graph->place ? 0 : ERR_NO_MEMORY;
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

void replay_graph_next(struct replay_graph *graph)
{
    graph->first[graph->entered++] = (uint32_t)graph->edges;
}

int replay_graph_add(struct replay_graph *graph, uint32_t from, int64_t lag, enum replay_kind kind)
{
    size_t edge = graph->edges;

    if (graph->measured[from] > graph->measured[graph->entered - 1])
        return 0;
    if (array_reserve_up_to(&graph->from, &graph->from_room, edge + 1, UINT32_MAX, sizeof *graph->from) != 0 ||
        array_reserve_up_to(&graph->lag, &graph->lag_room, edge + 1, UINT32_MAX, sizeof *graph->lag) != 0 ||
        array_reserve_up_to(&graph->kind, &graph->kind_room, edge + 1, UINT32_MAX, sizeof *graph->kind) != 0)
        return ERR_NO_MEMORY;
    graph->from[edge] = from;
    graph->lag[edge] = lag;
    graph->kind[edge] = (uint8_t)kind;
    graph->edges++;
    return 0;
}

/* ---- the order of points --------------------------------------------------------------------------------------- */

enum { UNSEEN, ON_THE_PATH, DONE };
struct search {
    uint8_t *state;  /* by point */
    uint32_t *stack; /* owned; a point may lie on it once for each of its edges */
    size_t depth, room;
    size_t placed;   /* points of the order that are final */
};

static int push(struct search *search, uint32_t point)
{
    if (array_reserve(&search->stack, &search->room, search->depth + 1, sizeof *search->stack) != 0)
        return ERR_NO_MEMORY;
    search->stack[search->depth++] = point;
    return 0;
}

/* Pushes the points of the same time that this one depends on. An edge from a point on the path closes a circle. */
static int push_earlier(struct replay_graph *graph, struct search *search, uint32_t point)
{
    for (uint32_t edge = graph->first[point]; edge < graph->first[point + 1]; edge++) {
        uint32_t from = graph->from[edge];
        if (graph->measured[from] != graph->measured[point] || search->state[from] == DONE)
            continue;
        if (search->state[from] == ON_THE_PATH)
            graph->lag[edge] = REPLAY_DROPPED;
        else if (push(search, from) != 0)
            return ERR_NO_MEMORY;
    }
    return 0;
}

static int place(struct replay_graph *graph, struct search *search, uint32_t point)
{
    if (push(search, point) != 0)
        return ERR_NO_MEMORY;
    while (search->depth) {
        uint32_t top = search->stack[search->depth - 1];
        if (search->state[top] == UNSEEN) {
            search->state[top] = ON_THE_PATH;
            if (push_earlier(graph, search, top) != 0)
                return ERR_NO_MEMORY;
            continue;
        }
        if (search->state[top] == ON_THE_PATH)
            graph->point[search->placed++] = top;
        search->state[top] = DONE;
        search->depth--;
    }
    return 0;
}

/* Orders the points of one time, which lie in the order from first to end. */
static int arrange_moment(struct replay_graph *graph, struct search *search, size_t first, size_t end, uint32_t *moment)
{
    for (size_t i = first; i < end; i++)
        moment[i - first] = graph->point[i];
    search->placed = first;
    for (size_t i = 0; i < end - first; i++)
        if (place(graph, search, moment[i]) != 0)
            return ERR_NO_MEMORY;
    return 0;
}

static int arrange_moments(struct replay_graph *graph, struct search *search)
{
    uint32_t *moment = NULL;
    size_t room = 0;
    int code = 0;

    for (size_t first = 0, end; first < graph->points; first = end) {
        end = first + 1;
        while (end < graph->points && graph->measured[graph->point[end]] == graph->measured[graph->point[first]])
            end++;
        if (end - first == 1)
            continue;
        if (array_reserve(&moment, &room, end - first, sizeof *moment) != 0 ||
            arrange_moment(graph, search, first, end, moment) != 0) {
            code = ERR_NO_MEMORY;
            goto free_moment;
        }
    }
free_moment:
    free(moment);
    return code;
}

/* The edges in the order of their points, without those that close a circle. */
static int arrange_edges(struct replay_graph *graph)
{
    struct replay_graph out = { .points = graph->points };
    size_t edges = graph->edges + 1;

    out.measured = malloc((graph->points + 1) * sizeof *out.measured);
    out.first = malloc((graph->points + 1) * sizeof *out.first);
    out.from = malloc(edges * sizeof *out.from);
    out.lag = malloc(edges * sizeof *out.lag);
    out.kind = malloc(edges * sizeof *out.kind);
    if (!out.measured || !out.first || !out.from || !out.lag || !out.kind) {
        replay_graph_free(&out);
        return ERR_NO_MEMORY;
    }
    for (size_t place = 0; place < graph->points; place++)
        graph->place[graph->point[place]] = (uint32_t)place;
    for (size_t place = 0; place < graph->points; place++) {
        uint32_t point = graph->point[place];
        out.measured[place] = graph->measured[point];
        out.first[place] = (uint32_t)out.edges;
        for (uint32_t edge = graph->first[point]; edge < graph->first[point + 1]; edge++) {
            if (graph->lag[edge] == REPLAY_DROPPED)
                continue;
            out.from[out.edges] = graph->place[graph->from[edge]];
            out.lag[out.edges] = graph->lag[edge];
            out.kind[out.edges++] = graph->kind[edge];
        }
    }
    out.first[graph->points] = (uint32_t)out.edges;
    out.point = graph->point;
    out.place = graph->place;
    graph->point = graph->place = NULL;
    replay_graph_free(graph);
    *graph = out;
    return 0;
}

int replay_graph_arrange(struct replay_graph *graph)
{
    struct search search = { .state = calloc(graph->points + 1, 1) };
    int code = ERR_NO_MEMORY;

    graph->first[graph->points] = (uint32_t)graph->edges;
    for (size_t i = 0; i < graph->points; i++)
        graph->point[i] = (uint32_t)i;
    if (search.state && order_by_time(graph->point, graph->points, graph->measured) == 0)
        code = arrange_moments(graph, &search);
    free(search.state);
    free(search.stack);
    return code != 0 ? code : arrange_edges(graph);
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
