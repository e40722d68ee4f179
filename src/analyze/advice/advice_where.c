/* The place of a cause that its rule does not know: the line at which most of the time lies that the estimate removes.
 * A bound holds much that may have nothing to do with the cause; it is asked where the estimate removes nothing.
 * Threads of autograd have no lines, so that a line says more than the name of a range, however much time that has. */
#include <stdlib.h>

#include "adviser.h"

enum { MOST_LOOKUPS = 4096 }; /* edits that are looked at, evenly spread */

/* The place in the graph of the point that an edge leads to. */
static uint32_t place_of_edge(const struct replay_graph *graph, uint32_t edge)
{
    return BISECT(1, (uint32_t)graph->points, i, graph->first[i] <= edge) - 1;
}

/* The line of an edit: of the call that the edge is in or launches from, or of the pause before it. */
static uint32_t advice_where_line_of(struct adviser *adviser, const struct replay_edit *edit)
{
    const struct replay_graph *graph = &adviser->replay.graph;
    const struct replay_events *events = &adviser->replay.events;
    uint32_t point = graph->point[place_of_edge(graph, edit->edge)];
    int is_work = point >= replay_call_start(events->call_count);
    uint32_t number = is_work ? events->works[replay_work_of(&adviser->replay, point)].call : replay_call_of(point);

    if (number == NO_CALL)
        return NO_PLACE;
    const struct replay_call *call = &events->calls[number];
    int64_t thread = events->threads[call->thread].id, from_ns = call->start_ns, to_ns = call->end_ns;
    if (!is_work && point == replay_call_start(number)) {
        to_ns = call->start_ns;
        from_ns = saturating_subtract(to_ns, graph->lag[edit->edge]);
    }
    return places_line(&adviser->places, places_at(&adviser->places, thread, from_ns, to_ns));
}

/* What an edit removes: no more than its edge has. The pause of a thread that waits for another one, such as
 * autograd's, has a short edge behind the work of that one. */
static int64_t removed_ns(const struct replay_graph *graph, const struct replay_edit *edit)
{
    int64_t lag_ns = graph->lag[edit->edge], cut_ns = edit->cut_ns < lag_ns ? edit->cut_ns : lag_ns;

    return cut_ns > 0 ? cut_ns : 0;
}

static int advice_where_is_better(const struct places *places, const double *weight, uint32_t a, uint32_t b)
{
    int is_range_a = places_get(places, a).kind == PLACE_RANGE, is_range_b = places_get(places, b).kind == PLACE_RANGE;

    return is_range_a != is_range_b ? is_range_b : weight[a] > weight[b];
}

int advice_find_where(struct adviser *adviser, struct advice_cause *cause, struct error *err)
{
    const struct replay_edits *edits = cause->estimate.count ? &cause->estimate : &cause->bound;
    size_t step = edits->count / MOST_LOOKUPS + 1;
    struct places *places;
    uint32_t best = NO_PLACE;
    int code = adviser_places(adviser, &places, err);

    if (code != 0)
        return code;
    double *weight = calloc(places->keys.count + 1, sizeof *weight);
    if (!weight)
        return error_short_memory(err, "for the places of advice");
    for (size_t i = 0; i < edits->count; i += step) {
        uint32_t line = advice_where_line_of(adviser, &edits->list[i]);
        if (line == NO_PLACE || line >= places->keys.count)
            continue;
        weight[line] += (double)removed_ns(&adviser->replay.graph, &edits->list[i]);
        best = best == NO_PLACE || advice_where_is_better(places, weight, line, best) ? line : best;
    }
    free(weight);
    if (best != NO_PLACE)
        place_text(&cause->where, places, best);
    return text_failed(&cause->where) ? error_short_memory(err, "for the places of advice") : 0;
}
