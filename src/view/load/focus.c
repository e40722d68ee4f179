/* Finds the stretch that is shown first: see focus.h. Work on GPUs is counted over equal parts of its time. A few
 * operations long before or behind all others (a buffer that the start clears) do not count. */
#include "focus.h"

#include "event_search.h"
#include "view_state.h"

enum { PARTS = 1024, FEW = 200, SPARSE = 20 }; /* FEW: one of so many operations; SPARSE: one of so many parts */

struct work {
    int64_t from_ns, to_ns;
    uint64_t starts[PARTS], count;
};

static int64_t part_length(const struct work *work)
{
    return (work->to_ns - work->from_ns) / PARTS + 1;
}

/* Calls `visit` for each row of work on a GPU. */
static void each_stream(const struct view *view, void (*visit)(struct work *, const struct view_row *),
                        struct work *work)
{
    for (size_t i = 0; i < view->row_count; i++)
        if (view->rows[i].type == ROW_STREAM && view->rows[i].events.count)
            visit(work, &view->rows[i]);
}

static void add_span(struct work *work, const struct view_row *row)
{
    work->from_ns = row->from_ns < work->from_ns ? row->from_ns : work->from_ns;
    work->to_ns = row->to_ns > work->to_ns ? row->to_ns : work->to_ns;
}

static void add_starts(struct work *work, const struct view_row *row)
{
    int64_t length = part_length(work);

    for (uint32_t event = 0; event < row->events.count; event++) {
        int64_t part = (row->events.start_ns[event] - work->from_ns) / length;
        work->starts[part < 0 ? 0 : part >= PARTS ? PARTS - 1 : part]++;
    }
    work->count += row->events.count;
}

/* How many parts can be left out at one end: `step` is 1 from the first part on, -1 from the last one back. */
static int64_t sparse_parts(const struct work *work, int first, int step)
{
    uint64_t left_out = 0;
    int64_t used = 0, longest = 0;

    for (int64_t parts = 1; parts < PARTS; parts++) {
        uint64_t starts = work->starts[first + step * (parts - 1)];
        left_out += starts;
        used += starts > 0;
        if (left_out * FEW > work->count)
            break;
        if (used * SPARSE <= parts)
            longest = parts;
    }
    return longest;
}

/* The end of the last operation that begins before this time. */
static int64_t last_end(const struct view *view, int64_t before_ns)
{
    int64_t last = INT64_MIN;

    for (size_t i = 0; i < view->row_count; i++) {
        const struct view_events *events = &view->rows[i].events;
        if (view->rows[i].type != ROW_STREAM)
            continue;
        for (uint32_t lane = 0; lane < events->lane_count; lane++) {
            uint32_t behind = events_from(events, lane, before_ns);
            if (behind > events->lanes[lane] && event_end(events, behind - 1) > last)
                last = event_end(events, behind - 1);
        }
    }
    return last;
}

static void fold_others(struct view *view)
{
    for (size_t i = 0; i < view->row_count; i++) {
        struct view_row *row = &view->rows[i];
        if ((row->type == ROW_THREAD || row->type == ROW_PROCESS) &&
            (row->to_ns < view->focus_from_ns || row->from_ns > view->focus_to_ns))
            row->is_open = 0;
    }
}

void focus_find(struct view *view)
{
    struct work work = { .from_ns = INT64_MAX, .to_ns = INT64_MIN };

    view->focus_from_ns = view->origin_ns;
    view->focus_to_ns = view->end_ns;
    each_stream(view, add_span, &work);
    if (work.from_ns >= work.to_ns)
        return;
    each_stream(view, add_starts, &work);
    int64_t length = part_length(&work), behind = PARTS - sparse_parts(&work, PARTS - 1, -1);
    int64_t from = work.from_ns + sparse_parts(&work, 0, 1) * length,
            to = last_end(view, work.from_ns + behind * length);
    if (from >= to || (to - from) > (view->end_ns - view->origin_ns) / 2)
        return;
    int64_t air = (to - from) / 20;
    view->focus_from_ns = from - air > view->origin_ns ? from - air : view->origin_ns;
    view->focus_to_ns = to + air < view->end_ns ? to + air : view->end_ns;
    fold_others(view);
}
