/* Finds the span that is shown first: see focus.h. Activity is added up over equal parts of its time. A little of it
 * long before or after all other (a buffer that the start clears, a thread that wakes up now and then) does not count.
 */
#include "focus.h"

#include <string.h>

#include "analyze/engine/row_cursor.h"
#include "derived.h"
#include "event_search.h"
#include "view_state.h"

/* At most 1/FEW of the operations, spread over at most 1/SPARSE of the parts, is left out at an end. A part that is
 * busy for less than 1/IDLE of its time is unused. GPU work may begin up to 1/LATE of the steps' time after them. */
enum { PARTS = 1024, FEW = 200, SPARSE = 20, IDLE = 50, LATE = 10 };

/* The activities of a program, the most significant first. A report is judged by the first kind that it has. */
enum { MOST_TYPES = 5 };
static const struct focus_activity {
    enum row_type types[MOST_TYPES];
    size_t type_count;
    uint8_t not_flagged; /* events with this flag do not count */
    int is_timed;        /* counts their time, not their number; only the running state */
    int has_ends;        /* the last one counts up to its end; else it may be a wait */
} activities[] = {
    { { ROW_STREAM }, 1, 0, 0, 1 },
    { { ROW_STATE }, 1, 0, 1, 1 },
    { { ROW_SAMPLES, ROW_PYTHON_SAMPLES }, 2, EVENT_WAITING, 0, 1 },
    { { ROW_CUDA_API, ROW_LIBRARY, ROW_NVTX, ROW_TORCH, ROW_PYTHON }, 5, 0, 0, 1 },
    { { ROW_OSRT, ROW_THREAD_OTHER }, 2, 0, 0, 0 },
};
enum { ACTIVITIES = COUNT_OF(activities) };

struct focus_work {
    const struct view *view;
    const struct focus_activity *activity;
    uint32_t running;                /* the name of the running state */
    int64_t from_ns, to_ns;
    uint64_t weights[PARTS], weight; /* number of operations, or time */
};

static int64_t part_length(const struct focus_work *work)
{
    return (work->to_ns - work->from_ns) / PARTS + 1;
}

static int focus_is_of(const struct focus_activity *activity, const struct view_row *row)
{
    for (size_t i = 0; i < activity->type_count; i++)
        if (row->type == activity->types[i] && row->events.count)
            return 1;
    return 0;
}

static int focus_counts(const struct focus_work *work, const struct view_events *events, uint32_t event)
{
    return !(events->tag[event] & work->activity->not_flagged) &&
           (!work->activity->is_timed || event_name(events, event) == work->running);
}

/* Calls `visit` for each event that counts. */
static void each_event(struct focus_work *work,
                       void (*visit)(struct focus_work *, const struct view_events *, uint32_t event))
{
    for (size_t i = 0; i < work->view->row_count; i++) {
        const struct view_events *events = &work->view->rows[i].events;
        for (uint32_t event = 0; focus_is_of(work->activity, &work->view->rows[i]) && event < events->count; event++)
            if (focus_counts(work, events, event))
                visit(work, events, event);
    }
}

static void focus_add_span(struct focus_work *work, const struct view_events *events, uint32_t event)
{
    int64_t start = events->start_ns[event], end = work->activity->has_ends ? event_end(events, event) : start;

    work->from_ns = start < work->from_ns ? start : work->from_ns;
    work->to_ns = end > work->to_ns ? end : work->to_ns;
}

static int64_t focus_part_of(const struct focus_work *work, int64_t time_ns)
{
    int64_t part = (time_ns - work->from_ns) / part_length(work);

    return part < 0 ? 0 : part >= PARTS ? PARTS - 1 : part;
}

static void add_weight(struct focus_work *work, const struct view_events *events, uint32_t event)
{
    int64_t start = events->start_ns[event], end = event_end(events, event), length = part_length(work);

    if (!work->activity->is_timed) {
        work->weights[focus_part_of(work, start)]++;
        work->weight++;
        return;
    }
    for (int64_t part = focus_part_of(work, start); part <= focus_part_of(work, end); part++) {
        int64_t begin = work->from_ns + part * length, until = begin + length;
        begin = start > begin ? start : begin;
        until = end < until ? end : until;
        if (until > begin) {
            work->weights[part] += (uint64_t)(until - begin);
            work->weight += (uint64_t)(until - begin);
        }
    }
}

/* How many parts can be left out at one end: `step` is 1 from the first part on, -1 from the last one back. */
static int64_t sparse_parts(const struct focus_work *work, int first, int step)
{
    uint64_t left_out = 0, least = work->activity->is_timed ? (uint64_t)part_length(work) / IDLE : 0;
    int64_t used = 0, longest = 0;

    for (int64_t parts = 1; parts < PARTS; parts++) {
        uint64_t weight = work->weights[first + step * (parts - 1)];
        left_out += weight;
        used += weight > least;
        if (left_out * FEW > work->weight)
            break;
        if (used * SPARSE <= parts)
            longest = parts;
    }
    return longest;
}

/* The end of the last operation that begins before this time. */
static int64_t focus_last_end(const struct focus_work *work, int64_t before_ns)
{
    int64_t last = INT64_MIN;

    for (size_t i = 0; i < work->view->row_count; i++) {
        const struct view_events *events = &work->view->rows[i].events;
        if (!focus_is_of(work->activity, &work->view->rows[i]))
            continue;
        for (uint32_t lane = 0; lane < events->lane_count; lane++) {
            uint32_t behind = events_from(events, lane, before_ns);
            while (behind > events->lanes[lane] && !focus_counts(work, events, behind - 1))
                behind--;
            if (behind > events->lanes[lane] && event_end(events, behind - 1) > last)
                last = event_end(events, behind - 1);
        }
    }
    return last;
}

/* ---- spans ----------------------------------------------------------------------------------------------------- */

static const struct report_span no_span = { INT64_MAX, INT64_MIN };

/* The time in which most of the activity lies, of the first kind that the report has. */
static struct report_span active_span(const struct view *view)
{
    struct focus_work work = { .view = view, .running = derived_state_find(view, STATE_RUNNING) };

    for (size_t i = 0; i < ACTIVITIES && !work.weight; i++) {
        work.activity = &activities[i];
        work.from_ns = no_span.from_ns;
        work.to_ns = no_span.to_ns;
        each_event(&work, focus_add_span);
        if (work.from_ns < work.to_ns)
            each_event(&work, add_weight);
    }
    if (!work.weight)
        return no_span;
    int64_t length = part_length(&work), left = sparse_parts(&work, 0, 1),
            behind = work.from_ns + (PARTS - sparse_parts(&work, PARTS - 1, -1)) * length;
    return (struct report_span){ work.from_ns + left * length,
                                 work.activity->has_ends ? focus_last_end(&work, behind) : behind };
}

/* GPUs work on what the last step launched for a while. */
static struct report_span step_span(const struct view *view)
{
    struct report_span span = no_span;

    for (size_t i = 0; i < view->row_count; i++) {
        const struct view_row *row = &view->rows[i];
        if (row->type != ROW_STEPS)
            continue;
        span.from_ns = row->from_ns < span.from_ns ? row->from_ns : span.from_ns;
        span.to_ns = row->to_ns > span.to_ns ? row->to_ns : span.to_ns;
    }
    if (span.from_ns >= span.to_ns)
        return no_span;
    const struct focus_work gpu = { .view = view, .activity = &activities[0] };
    int64_t end = focus_last_end(&gpu, span.to_ns + (span.to_ns - span.from_ns) / LATE);
    span.to_ns = end > span.to_ns ? end : span.to_ns;
    return span;
}

/* The spans that the user chose to record, by a range, a call or a delay. */
static struct report_span recorded_span(struct view *view)
{
    enum { START, END, CAUSE };
    static const char *const names[] = { "start", "end", "cause", NULL };
    struct report_span span = no_span;
    struct row_cursor rows;

    if (row_cursor_open(&rows, view->report, "TACHO_RANGE", names, NULL) != 0)
        return no_span; /* then the whole time is shown */
    while (row_cursor_next(&rows)) {
        int64_t from = row_int(&rows, START), to = row_is_null(&rows, END) ? view->end_ns : row_int(&rows, END);
        if (strcmp(report_string(view->report, row_int(&rows, CAUSE), NULL), "start") == 0)
            continue;
        span.from_ns = from < span.from_ns ? from : span.from_ns;
        span.to_ns = to > span.to_ns ? to : span.to_ns;
    }
    row_cursor_close(&rows);
    return span;
}

/* Moves the focus to a span that is at most `share` percent of it, with some air around the span. */
static int focus_narrow(struct view *view, struct report_span span, int share, int air_part)
{
    int64_t whole = view->focus_to_ns - view->focus_from_ns, from = view->focus_from_ns, to = view->focus_to_ns;

    span.from_ns = span.from_ns > from ? span.from_ns : from;
    span.to_ns = span.to_ns < to ? span.to_ns : to;
    if (span.from_ns >= span.to_ns || span.to_ns - span.from_ns > whole / 100 * share)
        return 0;
    int64_t air = (span.to_ns - span.from_ns) / air_part;
    view->focus_from_ns = span.from_ns - air > from ? span.from_ns - air : from;
    view->focus_to_ns = span.to_ns + air < to ? span.to_ns + air : to;
    return 1;
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
    view->focus_from_ns = view->begin_ns;
    view->focus_to_ns = view->end_ns;
    focus_narrow(view, recorded_span(view), 99, 100);
    if (!focus_narrow(view, step_span(view), 80, 20))
        focus_narrow(view, active_span(view), 50, 20);
    fold_others(view);
}
