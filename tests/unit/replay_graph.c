/* Graphs of a replay that are large enough for several workers, and whose points often have the same time. */
#include "analyze/replay/replay_graph.h"

#include "made_cuda.h"

enum { MOMENT = 8, POINTS = 40000 * MOMENT, EDGES = 5, FAR = 1000, CIRCLE = 64 };

/* Points of a moment depend on each other against the order of their numbers. In every CIRCLE-th moment, the first and
 * the last depend on each other. */
static uint32_t within_moment(uint32_t point)
{
    uint32_t last = point / MOMENT * MOMENT + MOMENT - 1;

    if (point != last)
        return point + 1;
    return point / MOMENT % CIRCLE ? POINTS : point + 1 - MOMENT;
}

static int64_t lag_of(uint32_t point, size_t edge)
{
    return (int64_t)point * EDGES + (int64_t)edge;
}

/* Edges from points before, from later ones, and from one of the same time. */
static size_t edges_to(const void *context, uint32_t point, struct replay_edge *out)
{
    const uint32_t from[EDGES] = { point >= FAR ? point - FAR : POINTS, point >= MOMENT ? point - MOMENT : POINTS,
                                   point + MOMENT, within_moment(point),
                                   point >= MOMENT ? point / 2 / MOMENT * MOMENT : POINTS };
    size_t count = 0;

    for (size_t i = 0; i < EDGES; i++)
        if (from[i] < POINTS && from[i] != point)
            out[count++] = (struct replay_edge){ from[i], (enum replay_kind)i, lag_of(point, i) };
    return count;
}

static void open_graph(struct replay_graph *graph)
{
    struct report *report = finish(start());

    assert_int_equal(replay_graph_open(graph, POINTS), 0);
    for (uint32_t i = 0; i < POINTS; i++)
        graph->measured[i] = i / MOMENT;
    assert_int_equal(replay_graph_sort(graph), 0);
    assert_int_equal(replay_graph_arrange(graph, report, edges_to, NULL), 0);
    report_close(report);
}

/* Whether a point has this edge. */
static int has_edge(const struct replay_graph *graph, uint32_t point, const struct replay_edge *edge)
{
    uint32_t place = graph->place[point];

    for (uint32_t i = graph->first[place]; i < graph->first[place + 1]; i++)
        if (graph->from[i] == graph->place[edge->from] && graph->kind[i] == edge->kind && graph->lag[i] == edge->lag)
            return 1;
    return 0;
}

/* Every point is behind those that it depends on, and has all edges but those from later points. Of an edge that
 * closes a circle, only the circle tells: one of its edges is missing. */
static void points_lie_behind_those_that_they_depend_on(void **state)
{
    struct replay_graph graph;
    size_t kept = 0, missing = 0;

    open_graph(&graph);
    for (uint32_t place = 0; place < POINTS; place++) {
        assert_int_equal(graph.place[graph.point[place]], place);
        assert_int_equal(graph.measured[place], graph.point[place] / MOMENT);
        for (uint32_t i = graph.first[place]; i < graph.first[place + 1]; i++)
            assert_true(graph.from[i] < place);
    }
    for (uint32_t point = 0; point < POINTS; point++) {
        struct replay_edge edges[REPLAY_MOST_EDGES];
        size_t count = edges_to(NULL, point, edges);
        for (size_t i = 0; i < count; i++) {
            int is_later = edges[i].from / MOMENT > point / MOMENT, is_there = has_edge(&graph, point, &edges[i]);
            assert_true(!is_later || !is_there);
            kept += (size_t)is_there;
            missing += !is_later && !is_there;
        }
    }
    assert_int_equal(kept, graph.edges);
    assert_int_equal(missing, (POINTS / MOMENT + CIRCLE - 1) / CIRCLE);
    replay_graph_free(&graph);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(points_lie_behind_those_that_they_depend_on),
    };

    return cmocka_run_group_tests(tests, make_path, remove_path);
}
