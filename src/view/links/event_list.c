/* Lists of events: from rows of tables, and from lanes around a moment. */
#include "event_list.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "view/load/event_locate.h"
#include "view/load/event_search.h"

void event_list_free(struct event_list *places)
{
    free(places->list);
    *places = (struct event_list){ 0 };
}

int event_list_add(struct event_list *places, struct view_place place, struct error *err)
{
    if (ARRAY_PUSH(places->list, places->capacity, places->count, place) != 0)
        return error_no_memory(err);
    return 0;
}

void event_list_rows_free(struct event_list_rows *rows)
{
    free(rows->list);
    *rows = (struct event_list_rows){ 0 };
}

int event_list_rows_add(struct event_list_rows *rows, uint64_t row)
{
    if (row > UINT32_MAX)
        return 0; /* a timeline has no events of rows beyond that */
    return ARRAY_PUSH(rows->list, rows->capacity, rows->count, (uint32_t)row);
}

void event_list_rows_sort(struct event_list_rows *rows)
{
    if (rows->count)
        qsort(rows->list, rows->count, sizeof *rows->list, array_by_uint32);
}

int event_list_add_rows(struct event_list *places, struct view *view, const char *table, struct event_list_rows *rows,
                        struct error *err)
{
    if (!rows->count)
        return 0;
    struct view_place *found = malloc(rows->count * sizeof *found);
    int code;

    if (!found)
        return error_no_memory(err);
    event_list_rows_sort(rows);
    if ((code = view_locate(view, table, rows->list, rows->count, found, err)) != 0)
        goto free_found;
    for (size_t i = 0; i < rows->count; i++)
        if (found[i].row != VIEW_NO_ROW && (code = event_list_add(places, found[i], err)) != 0)
            goto free_found;
free_found:
    free(found);
    return code == ERR_NOT_FOUND ? 0 : code;
}

/* ---- order ----------------------------------------------------------------------------------------------------- */

static int event_list_by_time(const void *a, const void *b, void *context)
{
    const struct view *view = context;
    struct view_place x = *(const struct view_place *)a, y = *(const struct view_place *)b;
    int64_t x_start = place_start(view, x), y_start = place_start(view, y), x_end = place_end(view, x),
            y_end = place_end(view, y);

    return COMPARE(x_start, y_start) ?: COMPARE(y_end, x_end) ?: COMPARE(x.row, y.row) ?: COMPARE(x.event, y.event);
}

static int event_list_is_same(struct view_place a, struct view_place b)
{
    return a.row == b.row && a.event == b.event;
}

void event_list_sort(struct event_list *places, const struct view *view)
{
    size_t kept = 0;

    if (places->count)
        qsort_r(places->list, places->count, sizeof *places->list, event_list_by_time, (void *)(uintptr_t)view);
    for (size_t i = 0; i < places->count; i++)
        if (!kept || !event_list_is_same(places->list[kept - 1], places->list[i]))
            places->list[kept++] = places->list[i];
    places->count = kept;
}

/* ---- a thread at a time ---------------------------------------------------------------------------------------- */

static int can_hold(const struct view_row *row, int64_t thread)
{
    return row->thread == thread && row->kind == KIND_SLICES && row_types[row->type].place == PLACE_THREAD;
}

/* If two events of a row have the same start and end, the one in the lower lane contains the other. */
static int is_around(const struct view *view, struct view_place place, int64_t from_ns, int64_t to_ns,
                     struct view_place self)
{
    int64_t start = place_start(view, place), end = place_end(view, place);

    if (start > from_ns || end < to_ns || event_list_is_same(place, self))
        return 0;
    return place.row != self.row || start != from_ns || end != to_ns || place.event < self.event;
}

/* No program nests deeper. Without the limit, a hostile report could make an answer of any length. */
static void keep_innermost(struct event_list *places)
{
    size_t over = places->count > MOST_PLACES ? places->count - MOST_PLACES : 0;

    if (over)
        memmove(places->list, places->list + over, MOST_PLACES * sizeof *places->list);
    places->count -= over;
}

int event_list_around(struct event_list *places, struct view *view, int64_t thread, int64_t from_ns, int64_t to_ns,
                      struct view_place self, struct error *err)
{
    int code;

    for (size_t r = 0; r < view->row_count; r++) {
        const struct view_events *events = &view->rows[r].events;
        if (!can_hold(&view->rows[r], thread) || view->rows[r].from_ns > from_ns || view->rows[r].to_ns < to_ns)
            continue;
        for (uint32_t lane = 0; lane < events->lane_count; lane++) {
            struct view_place place = { (int)r, events_reaching(events, lane, from_ns) };
            if (place.event < events->lanes[lane + 1] && is_around(view, place, from_ns, to_ns, self) &&
                (code = event_list_add(places, place, err)) != 0)
                return code;
        }
    }
    event_list_sort(places, view);
    keep_innermost(places);
    return 0;
}

int event_list_inside(struct event_list *places, struct view *view, int64_t thread, enum row_type type, int64_t from_ns,
                      int64_t to_ns, size_t most, struct error *err)
{
    size_t end = places->count + most;
    int code;

    for (size_t r = 0; r < view->row_count; r++) {
        const struct view_events *events = &view->rows[r].events;
        if (view->rows[r].type != type || view->rows[r].thread != thread)
            continue;
        for (uint32_t lane = 0; lane < events->lane_count; lane++) {
            uint32_t event = events_from(events, lane, from_ns);
            for (; event < events->lanes[lane + 1] && events->start_ns[event] <= to_ns && places->count < end; event++)
                if ((code = event_list_add(places, (struct view_place){ (int)r, event }, err)) != 0)
                    return code;
        }
    }
    return 0;
}
