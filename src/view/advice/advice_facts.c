/* Finds the operator and the next work of a finding: see advice_facts.h. */
#include "advice_facts.h"

#include "analyze/engine/event_columns.h"
#include "view/answer/operator_pairs.h"
#include "view/answer/related_events.h"
#include "view/load/event_search.h"

static void advice_facts_add_name(struct text *out, struct view *view, struct view_place place)
{
    size_t length;
    const char *name = view_name(view, view->rows[place.row].events.name[place.event], &length);

    text_add_bytes(out, name, length);
}

/* The first work of the process that begins at a time or later. */
static struct view_place advice_facts_next_work(const struct view *view, int64_t process, int64_t from_ns)
{
    struct view_place best = VIEW_NO_PLACE;
    int64_t best_ns = INT64_MAX;

    for (size_t row = 0; row < view->row_count; row++) {
        const struct view_row *of = &view->rows[row];
        if (of->type != ROW_STREAM || (process >= 0 && global_pid_number(of->process) != process))
            continue;
        for (uint32_t lane = 0; lane < of->events.lane_count; lane++) {
            uint32_t event = events_from(&of->events, lane, from_ns);
            if (event < of->events.lanes[lane + 1] && of->events.start_ns[event] < best_ns) {
                best_ns = of->events.start_ns[event];
                best = (struct view_place){ (int)row, event };
            }
        }
    }
    return best;
}

/* The innermost operator on a thread around a span. */
static int advice_facts_add_operator(struct text *out, struct view *view, int64_t thread, int64_t from_ns,
                                     int64_t to_ns, struct error *err)
{
    struct event_list around = { 0 };
    int code = event_list_around(&around, view, thread, from_ns, to_ns, VIEW_NO_PLACE, err);

    if (code != 0)
        goto free_around;
    for (size_t i = around.count; i > 0; i--) {
        struct operator_facts facts;
        if ((code = operator_facts(&facts, view, around.list[i - 1], err)) != 0)
            goto free_around;
        if (facts.is_operator) {
            advice_facts_add_name(out, view, around.list[i - 1]);
            goto free_around;
        }
    }
free_around:
    event_list_free(&around);
    return code;
}

/* The operator around the call that launched the work. */
static int add_operator_of_work(struct text *out, struct view *view, struct view_place work, struct error *err)
{
    struct related_correlated ids = { 0 };
    struct event_list calls = { 0 };
    int code;

    if ((code = related_correlated_of(&ids, view, work, err)) != 0 ||
        (code = related_calls(&calls, view, &ids, err)) != 0)
        goto done;
    if (calls.count) {
        const struct view_row *row = &view->rows[calls.list[0].row];
        int64_t from_ns = row->events.start_ns[calls.list[0].event];
        code = advice_facts_add_operator(out, view, row->thread, from_ns, event_end(&row->events, calls.list[0].event),
                                         err);
    }
done:
    event_list_free(&calls);
    related_correlated_free(&ids);
    return code;
}

/* The first work that a thread launched in a span. */
static int first_launched(struct view_place *out, struct view *view, const struct advice_place *place,
                          struct error *err)
{
    struct event_list launched = { 0 };
    int code = related_launched(&launched, view, place->thread, place->from_ns, place->to_ns, err);

    if (code != 0)
        goto free_launched;
    if (launched.count) {
        event_list_sort(&launched, view);
        *out = launched.list[0];
    }
free_launched:
    event_list_free(&launched);
    return code;
}

int advice_facts_find(struct text *operator_name, struct text *next, struct view *view,
                      const struct advice_place *place, struct error *err)
{
    struct view_place work = place->next;
    int code;

    if (place->thread >= 0 && ((code = first_launched(&work, view, place, err)) != 0 ||
                               (code = advice_facts_add_operator(operator_name, view, place->thread, place->from_ns,
                                                                 place->to_ns, err)) != 0))
        return code;
    if (work.row == VIEW_NO_ROW)
        work = advice_facts_next_work(view, place->process, place->to_ns);
    if (work.row != VIEW_NO_ROW)
        advice_facts_add_name(next, view, work);
    return place->thread >= 0 || work.row == VIEW_NO_ROW ? 0 : add_operator_of_work(operator_name, view, work, err);
}
