/* The requests find and next: counting the events with such a name, and going from one to the next. */
#include "answer_cache.h"
#include "answers.h"
#include "row_answers.h"
#include "view/load/event_search.h"

enum { MOST_NAMES = 10000 };

/* ---- find ------------------------------------------------------------------------------------------------------ */

struct finding {
    struct text rows, names; /* members of the two lists */
    int64_t total;
    size_t name_count;
    int is_cut;
};

/* How many events of a row match, or whether any does. ERR_ codes are below 0. */
static int64_t count_matches(struct view_kept *kept, struct view *view, int number, int is_one_enough,
                             struct error *err)
{
    const struct view_events *events = &view->rows[number].events;
    const struct name_counts_row *tally = &kept->tally.rows[number];
    size_t names = tally->list ? tally->count : events->count;
    int64_t count = 0;

    for (size_t i = 0; i < names; i++) {
        int matches = name_search_matches(&kept->search, view, tally->list ? tally->list[i].name : events->name[i],
                                          err);
        if (matches < 0)
            return matches;
        count += !matches ? 0 : tally->list ? tally->list[i].count : 1;
        if (count && is_one_enough)
            break;
    }
    return count;
}

/* What is searched for, and in which rows: one, or all. */
static int begin(struct view_kept *kept, struct view *view, const struct arguments *arguments, int *first, int *behind,
                 struct error *err)
{
    int code = kept ? name_search_begin(&kept->search, view, arguments, err) : err->code;

    *first = 0;
    *behind = (int)view->row_count;
    if (code == 0 && argument_text(arguments, "row", NULL)) {
        code = view_argument_row(view, arguments, "row", first, err);
        *behind = *first + 1;
    }
    return code || kept->tally.rows ? code : name_counts_make(&kept->tally, view, err);
}

static void add_names(struct finding *finding, const struct search *search)
{
    for (int is_own = 0; is_own < 2; is_own++)
        for (size_t id = 0; id < search->verdict_room[is_own]; id++) {
            if (search->verdicts[is_own][id] != VERDICT_YES)
                continue;
            if (finding->name_count++ == MOST_NAMES) {
                finding->is_cut = 1;
                return;
            }
            text_addf(&finding->names, "%s%lu", finding->names.length ? "," : "",
                      (unsigned long)(id | (is_own ? VIEW_OWN_NAME : 0)));
        }
}

int view_find(struct view *view, const struct arguments *arguments, struct text *out, struct error *err)
{
    struct view_kept *kept = view_kept(view, err);
    struct finding finding = { 0 };
    int first, behind, code = begin(kept, view, arguments, &first, &behind, err);

    for (int row = first; row < behind && code == 0; row++) {
        int64_t count = count_matches(kept, view, row, 0, err);
        code = count < 0 ? (int)count : 0;
        if (count > 0)
            text_addf(&finding.rows, "%s{\"row\":%d,\"count\":%lld}", finding.rows.length ? "," : "", row,
                      (long long)count);
        finding.total += count;
    }
    if (code == 0) {
        add_names(&finding, &kept->search);
        text_addf(out, "{\"total\":%lld,\"rows\":[%s],\"names\":[%s],\"cut\":%s}", (long long)finding.total,
                  text_string(&finding.rows), text_string(&finding.names), finding.is_cut ? "true" : "false");
        if (text_failed(&finding.rows) || text_failed(&finding.names))
            code = error_set(err, ERR_NO_MEMORY, "not enough memory to search");
    }
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

static int compare(const struct position *a, const struct position *b)
{
    if (a->start_ns != b->start_ns)
        return a->start_ns < b->start_ns ? -1 : 1;
    return a->row != b->row ? (a->row > b->row) - (a->row < b->row) : (a->event > b->event) - (a->event < b->event);
}

struct stepping {
    struct view *view;
    struct search *search;
    struct position from, best; /* best.row: VIEW_NO_ROW while there is none */
    int is_back;
};

/* From where on in a lane, and how far: the nearest of it that matches and is nearer than the best so far. */
static int step_lane(struct stepping *stepping, int row, uint32_t lane, struct error *err)
{
    const struct view_events *events = &stepping->view->rows[row].events;
    int64_t first = events->lanes[lane], behind = events->lanes[lane + 1], step = stepping->is_back ? -1 : 1;
    int64_t from = stepping->from.start_ns;
    int64_t at = !stepping->is_back      ? events_from(events, lane, from)
                 : from >= VIEW_FURTHEST ? behind - 1
                                         : (int64_t)events_from(events, lane, from + 1) - 1;

    for (; at >= first && at < behind; at += step) {
        struct position here = { events->start_ns[at], row, at };
        if (stepping->best.row != VIEW_NO_ROW && compare(&here, &stepping->best) * step >= 0)
            break;
        if (compare(&here, &stepping->from) * step <= 0)
            continue;
        int matches = name_search_matches(stepping->search, stepping->view, events->name[at], err);
        if (matches < 0)
            return matches;
        if (matches) {
            stepping->best = here;
            break;
        }
    }
    return 0;
}

/* Where to go on from. A time alone is behind (or before) every event that starts there. */
static int read_position(struct stepping *stepping, const struct arguments *arguments, struct error *err)
{
    const char *after = argument_text(arguments, "after", NULL);
    int64_t back = 0, at = 0, row, event;
    int code = argument_int(arguments, "back", 0, 1, &back, err), has_at = argument_text(arguments, "at", NULL) != NULL;

    if (code == 0)
        code = argument_int(arguments, "at", -VIEW_LAST_TIME, VIEW_LAST_TIME, &at, err);
    if (code != 0)
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
        return error_set(err, ERR_BAD_ARGUMENT, "after: must be a row and an event of it, with a comma between them");
    if ((uint64_t)row >= stepping->view->row_count || event >= stepping->view->rows[row].events.count)
        return error_set(err, ERR_NOT_FOUND, "there is no event %lld in a row %lld", (long long)event, (long long)row);
    stepping->from = (struct position){ stepping->view->rows[row].events.start_ns[event], (int)row, event };
    return 0;
}

int view_next(struct view *view, const struct arguments *arguments, struct text *out, struct error *err)
{
    struct view_kept *kept = view_kept(view, err);
    struct stepping stepping = { .view = view, .search = kept ? &kept->search : NULL, .best.row = VIEW_NO_ROW };
    int first, behind, code = begin(kept, view, arguments, &first, &behind, err);

    if (code == 0)
        code = read_position(&stepping, arguments, err);
    for (int row = first; row < behind && code == 0; row++) {
        int64_t has_some = kept->tally.rows[row].list ? count_matches(kept, view, row, 1, err) : 1;
        code = has_some < 0 ? (int)has_some : 0;
        for (uint32_t lane = 0; lane < view->rows[row].events.lane_count && has_some > 0 && code == 0; lane++)
            code = step_lane(&stepping, row, lane, err);
    }
    if (code != 0)
        return code;
    if (stepping.best.row == VIEW_NO_ROW)
        text_add(out, "null");
    else
        view_add_event(view, out, stepping.best.row, (uint32_t)stepping.best.event);
    return 0;
}
