/* Writes the details of a gap: see gap_details.h. */
#include "gap_details.h"

#include <string.h>

#include "base/json_write.h"
#include "idle_rows.h"
#include "view/links/event_json.h"
#include "view/load/derived.h"

enum { MOST_PARTS = 16 }; /* listed; the others are counted */

/* Causes in which the thread did not go on: the call in which it waited is the end of the chain. */
static const unsigned char is_wait[GAP_CAUSES] = {
    [GAP_WAIT] = 1, [GAP_LOADING] = 1, [GAP_COPY] = 1, [GAP_ALLOCATION] = 1, [GAP_CODE] = 1,
    [GAP_GC] = 1,   [GAP_COMPILE] = 1, [GAP_GIL] = 1,  [GAP_BLOCKED] = 1,    [GAP_PREEMPTED] = 1,
};

int gap_details_work(struct view *view, struct view_place gap, struct view_place *out, struct error *err)
{
    const struct view_events *events = &view->rows[gap.row].events;
    int code = view_locate(view, idle_rows_table(events, gap.event), &events->table_row[gap.event], 1, out, err);

    return code == ERR_NOT_FOUND ? 0 : code;
}

/* The innermost event of the thread in the middle of the part's longest span. */
static int gap_details_find_event(struct view_place *out, struct view *view, const struct idle_part *part,
                                  struct error *err)
{
    struct event_list around = { 0 };
    int64_t middle_ns = part->start_ns + (part->end_ns - part->start_ns) / 2;
    int code;

    *out = VIEW_NO_PLACE;
    if ((code = event_list_around(&around, view, part->thread, middle_ns, middle_ns, VIEW_NO_PLACE, err)) != 0)
        goto free_around;
    if (around.count)
        *out = around.list[around.count - 1];
free_around:
    event_list_free(&around);
    return code;
}

static int gap_details_add_part(struct text *out, struct view *view, const struct idle_causes *causes,
                                const struct idle_part *part, struct gap_chain *chain, struct error *err)
{
    struct view_place at;
    int code = gap_details_find_event(&at, view, part, err);

    if (code != 0)
        return code;
    if (is_wait[part->cause] && chain->wait.row == VIEW_NO_ROW)
        chain->wait = at;
    json_addf(out, "{'cause':%s,'state':%d,'time':%jd,'line':%s,'at':", gap_cause_names[part->cause],
              STATE_FIRST_CAUSE + (int)part->cause, part->total_ns, idle_causes_line(causes, part));
    if (at.row == VIEW_NO_ROW)
        text_add(out, "null");
    else
        view_add_event(view, out, at.row, at.event);
    text_add_char(out, '}');
    return 0;
}

static void gap_details_add_link(struct text *out, struct view *view, const char *kind, struct view_place place)
{
    if (place.row == VIEW_NO_ROW)
        return;
    json_addf(out, "{'kind':%s,'event':", kind);
    view_add_event(view, out, place.row, place.event);
    text_add_char(out, '}');
}

static int gap_details_is_same(struct view_place a, struct view_place b)
{
    return a.row == b.row && a.event == b.event;
}

/* gap ← work ← launch ← operator ← line ← wait */
static void gap_details_add_chain(struct text *out, struct view *view, const struct gap_chain *chain, const char *line)
{
    json_addf(out, "'chain':[");
    gap_details_add_link(out, view, "work", chain->work);
    gap_details_add_link(out, view, "launch", chain->call);
    gap_details_add_link(out, view, "operator", chain->operator);
    if (*line)
        json_addf(out, "{'kind':'line','text':%s}", line);
    if (!gap_details_is_same(chain->wait, chain->call) && !gap_details_is_same(chain->wait, chain->operator))
        gap_details_add_link(out, view, "wait", chain->wait);
    text_add_char(out, ']');
}

int gap_details_add(struct text *out, struct view *view, const struct idle_causes *causes, struct gap_chain *chain,
                    struct error *err)
{
    size_t count, shown;
    const struct idle_part *parts = idle_causes_of(causes, chain->gap.row, chain->gap.event, &count);
    const char *line = "";
    int code;

    chain->wait = VIEW_NO_PLACE;
    shown = count < MOST_PARTS ? count : MOST_PARTS;
    json_addf(out, "{'causes':[");
    for (size_t i = 0; i < shown; i++) {
        if ((code = gap_details_add_part(out, view, causes, &parts[i], chain, err)) != 0)
            return code;
        line = *line ? line : idle_causes_line(causes, &parts[i]);
    }
    json_addf(out, "],'more':%zu", count - shown);
    gap_details_add_chain(out, view, chain, line);
    text_add_char(out, '}');
    return 0;
}
