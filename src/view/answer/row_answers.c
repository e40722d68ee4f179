/* The requests rows, idle, names and at. */
#include "row_answers.h"

#include "analyze/engine/event_columns.h"
#include "answer_cache.h"
#include "answers.h"
#include "base/json_write.h"
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

static const char *const row_answers_kind_names[ROW_KINDS] = { "group", "slices", "ticks", "states", "counter" };

static void row_answers_add_works(struct text *out, unsigned works)
{
    json_addf(out, "'kinds':[");
    for (int work = 0; work < WORK_KINDS; work++)
        if (works >> work & 1)
            json_addf(out, "%d", work);
    text_add_char(out, ']');
}

static void row_answers_add_row(const struct view *view, struct text *out, size_t i)
{
    const struct view_row *row = &view->rows[i];

    json_addf(out, "{'id':%zu,'parent':%d,'kind':%s,'type':%s,'label':%s,'detail':%s,'lanes':%u", i, row->parent,
              row_answers_kind_names[row->kind], row_types[row->type].name, row->label, row->detail,
              row->kind == KIND_COUNTER ? 1 : row->events.lane_count);
    row_answers_add_works(out, row->works);
    json_addf(out, "'events':%jd", (int64_t)(row->kind == KIND_COUNTER ? row->points.count : row->events.count));
    if (row->from_ns <= row->to_ns)
        json_addf(out, "'from':%jd,'to':%jd", view_time(view, row->from_ns), view_time(view, row->to_ns));
    int is_map = view->is_map && row->kind == KIND_GROUP; /* it is a strip while it is folded */
    json_addf(out, "'unit':%s,'open':%i", is_map ? "%" : row->unit, row->is_open);
    if (is_map)
        json_addf(out, "'min':0,'max':100");
    if (row->kind == KIND_COUNTER)
        json_addf(out, "'min':%g,'max':%g", row->points.min, row->points.max);
    if (row->rank >= 0)
        json_addf(out, "'rank':%jd", row->rank);
    if (row->process >= 0)
        json_addf(out, "'pid':%jd", global_pid_number(row->process));
    if (row->thread >= 0)
        json_addf(out, "'tid':%jd", global_tid_number(row->thread));
    if (row->device >= 0)
        json_addf(out, "'device':%jd", row->device);
    if (row->stream >= 0)
        json_addf(out, "'stream':%jd", row->stream);
    text_add_char(out, '}');
}

int view_rows(struct view *view, const struct arguments *arguments, struct text *out, struct error *err)
{
    json_addf(out, "{'rows':[");
    for (size_t i = 0; i < view->row_count; i++)
        row_answers_add_row(view, out, i);
    text_add(out, "]}");
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
    json_addf(out, "{'names':[");
    while ((found = argument_list_next(&list, 0, UINT32_MAX, &id, err)) == 1) {
        if (count++ == MOST_NAMES)
            return error_set(err, ERR_BAD_ARGUMENT, "at most %d names per request", MOST_NAMES);
        text_add(out, count > 1 ? "," : "");
        view_add_name(view, out, (uint32_t)id);
    }
    text_add(out, "]}");
    return found;
}

/* ---- the event at a place -------------------------------------------------------------------------------------- */

/* How far a time is from an event; 0 within it. */
static int64_t row_answers_distance(const struct view_events *events, uint32_t event, int64_t time_ns)
{
    int64_t before = events->start_ns[event] - time_ns, behind = time_ns - event_end(events, event);

    return before > 0 ? before : behind > 0 ? behind : 0;
}

/* The nearest event of a kind of work below a group. */
static void row_answers_add_nearest(struct view *view, struct text *out, int row, unsigned lane, int64_t time,
                                    int64_t slack)
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
        row_answers_add_nearest(view, out, row, (unsigned)lane, time, slack);
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
    if (at == end ||
        (at > first && row_answers_distance(events, at - 1, time_ns) < row_answers_distance(events, at, time_ns)))
        at = at > first ? at - 1 : at;
    if (at < end && row_answers_distance(events, at, time_ns) <= slack)
        view_add_event(view, out, row, at);
    else
        text_add(out, "null");
    return 0;
}
