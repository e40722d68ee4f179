/* The requests find and next: count the events whose name matches, and go from one to the next. */
#include "answer_cache.h"
#include "answers.h"
#include "base/array.h"
#include "base/json_write.h"
#include "row_answers.h"
#include "view/load/event_search.h"

enum { MOST_NAMES = 10000 };

/* ---- find ------------------------------------------------------------------------------------------------------ */

struct name_find_finding {
    struct text rows, names; /* members of the two lists */
    int64_t total;
    size_t name_count;
    int is_cut;
};

/* How many events of a row match, or whether any does. */
static int count_matches(struct view *view, int number, int is_one_enough, int64_t *out, struct error *err)
{
    const struct view_events *events = &view->rows[number].events;
    const struct name_counts_row *counts = &view->cache->name_counts.rows[number];
    struct name_search *search = &view->cache->search;
    size_t names = counts->list ? counts->count : events->count;
    int64_t count = 0;

    for (size_t i = 0; i < names; i++) {
        int matches = name_search_matches(search, view,
                                          counts->list ? counts->list[i].name : event_name(events, (uint32_t)i), err);
        if (matches < 0)
            return matches;
        count += !matches ? 0 : counts->list ? counts->list[i].count : 1;
        if (count && is_one_enough)
            break;
    }
    *out = count;
    return 0;
}

/* Reads the search, and the rows to look at: one, or all. */
static int name_find_begin(struct view *view, const struct arguments *arguments, int *first, int *behind,
                           struct error *err)
{
    struct answer_cache *cache = view->cache;
    int code;

    *first = 0;
    *behind = (int)view->row_count;
    if ((code = name_search_begin(&cache->search, view, arguments, err)) != 0)
        return code;
    if (argument_text(arguments, "row", NULL)) {
        if ((code = view_argument_row(view, arguments, "row", first, err)) != 0)
            return code;
        *behind = *first + 1;
    }
    return cache->name_counts.rows ? 0 : name_counts_make(&cache->name_counts, view, err);
}

static void name_find_add_names(struct name_find_finding *finding, const struct name_search *search)
{
    for (int is_own = 0; is_own < 2; is_own++)
        for (size_t id = 0; id < search->verdict_room[is_own]; id++) {
            if (search->verdicts[is_own][id] != VERDICT_YES)
                continue;
            if (finding->name_count++ == MOST_NAMES) {
                finding->is_cut = 1;
                return;
            }
            json_addf(&finding->names, "%zu", id | (is_own ? VIEW_OWN_NAME : 0));
        }
}

static int find_in_rows(struct name_find_finding *finding, struct view *view, int first, int behind, struct error *err)
{
    int64_t count;
    int code;

    for (int row = first; row < behind; row++) {
        if ((code = count_matches(view, row, 0, &count, err)) != 0)
            return code;
        if (count > 0)
            json_addf(&finding->rows, "{'row':%d,'count':%jd}", row, count);
        finding->total += count;
    }
    return 0;
}

int view_find(struct view *view, const struct arguments *arguments, struct text *out, struct error *err)
{
    struct name_find_finding finding = { 0 };
    int first, behind, code;

    if ((code = name_find_begin(view, arguments, &first, &behind, err)) != 0)
        return code;
    if ((code = find_in_rows(&finding, view, first, behind, err)) != 0)
        goto free_finding;
    name_find_add_names(&finding, &view->cache->search);
    text_addf(out, "{\"total\":%lld,\"rows\":[%s],\"names\":[%s],\"cut\":%s}", (long long)finding.total,
              text_string(&finding.rows), text_string(&finding.names), finding.is_cut ? "true" : "false");
    if (text_failed(&finding.rows) || text_failed(&finding.names))
        code = error_short_memory(err, "to search");
free_finding:
    text_free(&finding.rows);
    text_free(&finding.names);
    return code;
}

/* ---- next ------------------------------------------------------------------------------------------------------ */

/* Events are passed in this order: by start, then by row, then by their number. */
struct position {
    int64_t start_ns;
    int row;
    int64_t event;
};

static int name_find_compare(const struct position *a, const struct position *b)
{
    return COMPARE(a->start_ns, b->start_ns) ?: COMPARE(a->row, b->row) ?: COMPARE(a->event, b->event);
}

struct stepping {
    struct view *view;
    struct position from, best; /* best.row: VIEW_NO_ROW while there is none */
    int is_back;
};

/* Goes through a lane to the first event that matches, and no further than the best one so far. */
static int step_lane(struct stepping *stepping, int row, uint32_t lane, struct error *err)
{
    const struct view_events *events = &stepping->view->rows[row].events;
    int64_t first = events->lanes[lane], behind = events->lanes[lane + 1], step = stepping->is_back ? -1 : 1;
    struct name_search *search = &stepping->view->cache->search;
    int64_t from = stepping->from.start_ns;
    int64_t at = !stepping->is_back      ? events_from(events, lane, from)
                 : from >= VIEW_FURTHEST ? behind - 1
                                         : (int64_t)events_from(events, lane, from + 1) - 1;

    for (; at >= first && at < behind; at += step) {
        struct position here = { events->start_ns[at], row, at };
        if (stepping->best.row != VIEW_NO_ROW && name_find_compare(&here, &stepping->best) * step >= 0)
            break;
        if (name_find_compare(&here, &stepping->from) * step <= 0)
            continue;
        int matches = name_search_matches(search, stepping->view, event_name(events, at), err);
        if (matches < 0)
            return matches;
        if (matches) {
            stepping->best = here;
            break;
        }
    }
    return 0;
}

/* Reads the position to go on from. A time alone lies after (or before) every event that starts then. */
static int read_position(struct stepping *stepping, const struct arguments *arguments, struct error *err)
{
    const char *after = argument_text(arguments, "after", NULL);
    int64_t back = 0, at = 0, row, event;
    int has_at = argument_text(arguments, "at", NULL) != NULL, code;

    if ((code = argument_int(arguments, "back", 0, 1, &back, err)) != 0 ||
        (code = argument_int(arguments, "at", -VIEW_LAST_TIME, VIEW_LAST_TIME, &at, err)) != 0)
        return code;
    stepping->is_back = (int)back;
    stepping->from = (struct position){ has_at ? view_report_time(stepping->view, at)
                                        : back ? VIEW_FURTHEST
                                               : -VIEW_FURTHEST,
                                        back ? -1 : INT32_MAX, 0 };
    if (!after)
        return 0;
    if (argument_list_next(&after, 0, INT32_MAX, &row, err) != 1 ||
        argument_list_next(&after, 0, UINT32_MAX, &event, err) != 1)
        return error_set(err, ERR_BAD_ARGUMENT, "after: must be a row and an event, separated by a comma");
    if ((uint64_t)row >= stepping->view->row_count || event >= stepping->view->rows[row].events.count)
        return error_set(err, ERR_NOT_FOUND,
                         "the timeline has no event %lld in row "
                         "%lld",
                         (long long)event, (long long)row);
    stepping->from = (struct position){ stepping->view->rows[row].events.start_ns[event], (int)row, event };
    return 0;
}

/* Rows without a match are passed over: a count of names is quicker than a walk over events. */
static int name_find_step_row(struct stepping *stepping, int row, struct error *err)
{
    struct view *view = stepping->view;
    int64_t count = 1;
    int code;

    if (view->cache->name_counts.rows[row].list && (code = count_matches(view, row, 1, &count, err)) != 0)
        return code;
    for (uint32_t lane = 0; lane < view->rows[row].events.lane_count && count > 0; lane++)
        if ((code = step_lane(stepping, row, lane, err)) != 0)
            return code;
    return 0;
}

int view_next(struct view *view, const struct arguments *arguments, struct text *out, struct error *err)
{
    struct stepping stepping = { .view = view, .best.row = VIEW_NO_ROW };
    int first, behind, code;

    if ((code = name_find_begin(view, arguments, &first, &behind, err)) != 0 ||
        (code = read_position(&stepping, arguments, err)) != 0)
        return code;
    for (int row = first; row < behind; row++)
        if ((code = name_find_step_row(&stepping, row, err)) != 0)
            return code;
    if (stepping.best.row == VIEW_NO_ROW)
        text_add(out, "null");
    else
        view_add_event(view, out, stepping.best.row, (uint32_t)stepping.best.event);
    return 0;
}
