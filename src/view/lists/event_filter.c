/* Filters events by row, time, name and duration. */
#include "event_filter.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cancel.h"
#include "view/answer/answer_cache.h"
#include "view/answer/row_answers.h"

enum { EVENTS_A_CHECK = 1 << 16 }; /* between two looks at the flag that cancels */

/* ---- arguments ------------------------------------------------------------------------------------------------- */

/* A group stands for all rows below it; a parent comes before its children. */
static void add_children(struct event_filter *filter)
{
    const struct view *view = filter->view;

    for (size_t i = 0; i < view->row_count; i++)
        if (view->rows[i].parent >= 0 && filter->rows[view->rows[i].parent] && view->rows[i].type != ROW_IDLE)
            filter->rows[i] = 1;
}

static int event_filter_read_rows(struct event_filter *filter, const struct arguments *arguments, struct error *err)
{
    const struct view *view = filter->view;
    const char *list = argument_text(arguments, "rows", NULL);
    int found = 0;
    int64_t row;

    filter->rows = calloc(view->row_count + 1, sizeof *filter->rows);
    if (!filter->rows)
        return error_no_memory(err);
    while (list && (found = argument_list_next(&list, 0, INT32_MAX, &row, err)) == 1) {
        if ((uint64_t)row >= view->row_count)
            return error_set(err, ERR_NOT_FOUND, "the timeline has no row %lld", (long long)row);
        filter->rows[row] = 1;
    }
    if (found < 0)
        return found;
    if (argument_text(arguments, "rows", NULL))
        add_children(filter);
    else
        for (size_t i = 0; i < view->row_count; i++)
            filter->rows[i] = view->rows[i].type != ROW_IDLE; /* gaps are no events, unless they are asked for */
    return 0;
}

int event_filter_argument(const struct view *view, const struct arguments *arguments, const char *name, int *row,
                          uint32_t *event, struct error *err)
{
    const char *list = argument_text(arguments, name, NULL);
    int64_t r, e;

    if (!list)
        return 0;
    if (argument_list_next(&list, 0, INT32_MAX, &r, err) != 1 || argument_list_next(&list, 0, UINT32_MAX, &e, err) != 1)
        return error_set(err, ERR_BAD_ARGUMENT, "%s: must be a row and an event, separated by a comma", name);
    if ((uint64_t)r >= view->row_count || e >= view->rows[r].events.count)
        return error_set(err, ERR_NOT_FOUND, "the timeline has no event %lld in row %lld", (long long)e, (long long)r);
    *row = (int)r;
    *event = (uint32_t)e;
    return 0;
}

static int begin_search(struct event_filter *filter, const struct arguments *arguments, struct error *err)
{
    struct answer_cache *cache = filter->view->cache;
    int code = name_search_begin(&cache->search, filter->view, arguments, err);

    if (code != 0)
        return code;
    filter->search = &cache->search;
    return cache->name_counts.rows ? 0 : name_counts_make(&cache->name_counts, filter->view, err);
}

static int read_same(struct event_filter *filter, const struct arguments *arguments, struct error *err)
{
    const struct view *view = filter->view;
    struct arguments by_name = { .request = arguments->request, .count = 1 };
    int row = VIEW_NO_ROW, code;
    uint32_t event = 0;
    char name[16];

    if ((code = event_filter_argument(view, arguments, "same", &row, &event, err)) != 0 || row == VIEW_NO_ROW)
        return code;
    for (size_t i = 0; i < view->row_count; i++)
        filter->rows[i] = filter->rows[i] && view->rows[i].type == view->rows[row].type;
    snprintf(name, sizeof name, "%u", event_name(&view->rows[row].events, event));
    by_name.list[0] = (struct argument){ "name", name, strlen(name) };
    return begin_search(filter, &by_name, err);
}

static int read_search(struct event_filter *filter, const struct arguments *arguments, struct error *err)
{
    if (argument_text(arguments, "same", NULL))
        return read_same(filter, arguments, err);
    if (!argument_text(arguments, "text", NULL) && !argument_text(arguments, "name", NULL))
        return 0;
    return begin_search(filter, arguments, err);
}

int event_filter_read(struct event_filter *filter, struct view *view, const struct arguments *arguments,
                      struct error *err)
{
    struct report_span span;
    int code;

    *filter = (struct event_filter){ .view = view, .least_ns = 0, .most_ns = INT64_MAX };
    if ((code = view_argument_span(view, arguments, &span, err)) != 0 ||
        (code = argument_int(arguments, "least", 0, VIEW_LAST_TIME * 2, &filter->least_ns, err)) != 0 ||
        (code = argument_int(arguments, "most", 0, INT64_MAX, &filter->most_ns, err)) != 0 ||
        (code = event_filter_read_rows(filter, arguments, err)) != 0)
        return code;
    filter->from_ns = span.from_ns;
    filter->to_ns = span.to_ns;
    return read_search(filter, arguments, err);
}

void event_filter_free(struct event_filter *filter)
{
    free(filter->rows);
    filter->rows = NULL;
}

/* ---- passes ---------------------------------------------------------------------------------------------------- */

void event_filter_lane(const struct event_filter *filter, const struct view_events *events, uint32_t lane,
                       uint32_t *first, uint32_t *behind)
{
    int64_t to_ns = filter->to_ns == filter->from_ns ? filter->to_ns + 1 : filter->to_ns;

    *first = filter->from_ns == INT64_MIN ? events->lanes[lane] : events_reaching(events, lane, filter->from_ns);
    *behind = filter->to_ns == INT64_MAX ? events->lanes[lane + 1] : events_from(events, lane, to_ns);
}

/* A list of the row's names says whether any matches; without one, the pass reads the events. */
int event_filter_has_row(struct event_filter *filter, int row, struct error *err)
{
    if (!filter->rows[row] || !filter->view->rows[row].events.count)
        return 0;
    if (!filter->search)
        return 1;
    const struct name_counts_row *counts = &filter->view->cache->name_counts.rows[row];
    for (size_t i = 0; i < counts->count; i++) {
        int matches = name_search_matches(filter->search, filter->view, counts->list[i].name, err);
        if (matches)
            return matches;
    }
    return counts->list ? 0 : 1;
}

static int pass_lane(struct event_filter *filter, int row, uint32_t lane, event_filter_take take, void *context,
                     struct error *err)
{
    const struct view_events *events = &filter->view->rows[row].events;
    uint32_t at, behind;

    for (event_filter_lane(filter, events, lane, &at, &behind); at < behind; at++) {
        int takes = event_filter_takes(filter, events, at, err), code;
        if (takes < 0)
            return takes;
        if (takes && (code = take(context, row, at)) != 0)
            return code;
        if (at % EVENTS_A_CHECK == 0 && cancel_is_raised(cancel_flag()))
            return error_set(err, ERR_CANCELLED, "the request was cancelled");
    }
    return 0;
}

int event_filter_each(struct event_filter *filter, event_filter_take take, void *context, struct error *err)
{
    int code;

    for (int row = 0; row < (int)filter->view->row_count; row++) {
        if ((code = event_filter_has_row(filter, row, err)) < 0)
            return code;
        for (uint32_t lane = 0; code == 1 && lane < filter->view->rows[row].events.lane_count; lane++) {
            int failed = pass_lane(filter, row, lane, take, context, err);
            if (failed)
                return failed;
        }
    }
    return 0;
}

int event_filter_has(struct event_filter *filter, int row, uint32_t event, struct error *err)
{
    const struct view_events *events = &filter->view->rows[row].events;
    uint32_t first, behind;

    if (!filter->rows[row])
        return 0;
    event_filter_lane(filter, events, events_lane(events, event), &first, &behind);
    return event >= first && event < behind ? event_filter_takes(filter, events, event, err) : 0;
}
