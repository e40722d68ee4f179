/* The requests rows, idle, names and at. */
#include "row_answers.h"

#include "analyze/engine/event_columns.h"
#include "answer_cache.h"
#include "answers.h"
#include "json_parts.h"
#include "view/group/group_tile.h"
#include "view/load/event_search.h"

/* ---- pieces ---------------------------------------------------------------------------------------------------- */

int view_argument_row(const struct view *view, const struct arguments *arguments, const char *name, int *out,
                      struct error *err)
{
    int64_t row = 0;
    int code;

    if ((code = argument_int_needed(arguments, name, 0, INT32_MAX, &row, err)) != 0)
        return code;
    if ((uint64_t)row >= view->row_count)
        return error_set(err, ERR_NOT_FOUND, "the timeline has no row %lld", (long long)row);
    *out = (int)row;
    return 0;
}

int view_argument_span(const struct view *view, const struct arguments *arguments, struct report_span *out,
                       struct error *err)
{
    int64_t from = -VIEW_LAST_TIME, to = VIEW_LAST_TIME;
    int code;

    if ((code = argument_int(arguments, "from", -VIEW_LAST_TIME, VIEW_LAST_TIME, &from, err)) != 0 ||
        (code = argument_int(arguments, "to", -VIEW_LAST_TIME, VIEW_LAST_TIME, &to, err)) != 0)
        return code;
    if (from > to)
        return error_set(err, ERR_BAD_ARGUMENT, "a time range cannot end (%lld) before it starts (%lld)", (long long)to,
                         (long long)from);
    *out = (struct report_span){ argument_text(arguments, "from", NULL) ? view_report_time(view, from) : INT64_MIN,
                                 argument_text(arguments, "to", NULL) ? view_report_time(view, to) : INT64_MAX };
    return 0;
}

/* ---- rows ------------------------------------------------------------------------------------------------------ */

static const char *const kind_names[ROW_KINDS] = { "group", "slices", "ticks", "states", "counter" };

static void add_works(struct text *out, unsigned works)
{
    text_add(out, "\"kinds\":[");
    for (int work = 0; work < WORK_KINDS; work++)
        if (works >> work & 1)
            text_addf(out, "%d,", work);
    json_end(out, "],");
}

static void add_row(const struct view *view, struct text *out, size_t i)
{
    const struct view_row *row = &view->rows[i];

    text_add_char(out, '{');
    json_int(out, "id", (int64_t)i);
    json_int(out, "parent", row->parent);
    json_string(out, "kind", kind_names[row->kind]);
    json_string(out, "type", row_types[row->type].name);
    json_string(out, "label", row->label);
    json_string(out, "detail", row->detail);
    json_int(out, "lanes", row->kind == KIND_COUNTER ? 1 : row->events.lane_count);
    add_works(out, row->works);
    json_int(out, "events", row->kind == KIND_COUNTER ? row->points.count : row->events.count);
    if (row->from_ns <= row->to_ns) {
        json_int(out, "from", view_time(view, row->from_ns));
        json_int(out, "to", view_time(view, row->to_ns));
    }
    int is_map = view->is_map && row->kind == KIND_GROUP; /* it is a strip while it is folded */
    json_string(out, "unit", is_map ? "%" : row->unit);
    text_addf(out, "\"open\":%s,", row->is_open ? "true" : "false");
    if (is_map)
        text_add(out, "\"min\":0,\"max\":100,");
    if (row->kind == KIND_COUNTER) {
        text_add(out, "\"min\":");
        json_add_real(out, row->points.min);
        text_add(out, ",\"max\":");
        json_add_real(out, row->points.max);
        text_add_char(out, ',');
    }
    if (row->rank >= 0)
        json_int(out, "rank", row->rank);
    if (row->process >= 0)
        json_int(out, "pid", global_pid_number(row->process));
    if (row->thread >= 0)
        json_int(out, "tid", global_tid_number(row->thread));
    if (row->device >= 0)
        json_int(out, "device", row->device);
    if (row->stream >= 0)
        json_int(out, "stream", row->stream);
    json_end(out, "},");
}

int view_rows(struct view *view, const struct arguments *arguments, struct text *out, struct error *err)
{
    text_add(out, "{\"rows\":[");
    for (size_t i = 0; i < view->row_count; i++)
        add_row(view, out, i);
    json_end(out, "]}");
    return 0;
}

/* ---- names ----------------------------------------------------------------------------------------------------- */

enum { MOST_NAMES = 100000 };

int view_idle(struct view *view, const struct arguments *arguments, struct text *out, struct error *err)
{
    struct idle_causes *causes = &view->cache->idle;
    int code;

    if ((code = idle_causes_find(causes, view, err)) != 0)
        return code;
    idle_causes_add(causes, view, out);
    return 0;
}

int view_names(struct view *view, const struct arguments *arguments, struct text *out, struct error *err)
{
    const char *list = argument_text(arguments, "ids", NULL);
    int64_t id;
    int found = 0, count = 0;

    if (!list)
        return error_set(err, ERR_BAD_ARGUMENT, "names: the argument ids is missing");
    text_add(out, "{\"names\":[");
    while ((found = argument_list_next(&list, 0, UINT32_MAX, &id, err)) == 1) {
        if (count++ == MOST_NAMES)
            return error_set(err, ERR_BAD_ARGUMENT, "at most %d names per request", MOST_NAMES);
        view_add_name(view, out, (uint32_t)id);
        text_add_char(out, ',');
    }
    json_end(out, "]}");
    return found;
}

/* ---- the event at a place -------------------------------------------------------------------------------------- */

/* How far a time is from an event; 0 within it. */
static int64_t distance(const struct view_events *events, uint32_t event, int64_t time_ns)
{
    int64_t before = events->start_ns[event] - time_ns, behind = time_ns - event_end(events, event);

    return before > 0 ? before : behind > 0 ? behind : 0;
}

/* The nearest event of a kind of work below a group. */
static void add_nearest(struct view *view, struct text *out, int row, unsigned lane, int64_t time, int64_t slack)
{
    int found = VIEW_NO_ROW;
    uint32_t event = 0;
    int64_t away = group_nearest(view, row, lane, view_report_time(view, time), &found, &event);

    if (away >= 0 && away <= slack)
        view_add_event(view, out, found, event);
    else
        text_add(out, "null");
}

int view_at(struct view *view, const struct arguments *arguments, struct text *out, struct error *err)
{
    int64_t time = 0, lane = 0, slack = 0;
    int row = VIEW_NO_ROW, code;

    if ((code = view_argument_row(view, arguments, "row", &row, err)) != 0 ||
        (code = argument_int_needed(arguments, "time", -VIEW_LAST_TIME, VIEW_LAST_TIME, &time, err)) != 0 ||
        (code = argument_int(arguments, "lane", 0, INT32_MAX, &lane, err)) != 0 ||
        (code = argument_int(arguments, "slack", 0, VIEW_LAST_TIME, &slack, err)) != 0)
        return code;
    const struct view_events *events = &view->rows[row].events;
    if (view->rows[row].kind == KIND_GROUP) {
        add_nearest(view, out, row, (unsigned)lane, time, slack);
        return 0;
    }
    if (lane >= events->lane_count) {
        text_add(out, "null");
        return 0;
    }
    /* the event that contains the time or starts after it, or the one before if that is nearer */
    int64_t time_ns = view_report_time(view, time);
    uint32_t first = events->lanes[lane], end = events->lanes[lane + 1],
             at = events_reaching(events, (uint32_t)lane, time_ns);
    if (at == end || (at > first && distance(events, at - 1, time_ns) < distance(events, at, time_ns)))
        at = at > first ? at - 1 : at;
    if (at < end && distance(events, at, time_ns) <= slack)
        view_add_event(view, out, row, at);
    else
        text_add(out, "null");
    return 0;
}
