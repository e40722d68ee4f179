/* Advice on the largest gaps, in which a GPU was idle. The cause is looked for in the thread that launched the work
 * that ended the gap. */
#include "advice_gaps.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/engine/event_columns.h"
#include "analyze/model/gpu_busy.h"
#include "base/human.h"
#include "related_events.h"

enum { MOST_GAPS = 50, LEAST_NS = 50000, LONGEST_SHOWN = 120 };

static const char rule_name[] = "gpu_idle";
static const char title[] = "Largest GPU Gaps";
static const char words[] =
    "Check the activity of the launching thread in these gaps. Move work that the CPU does before it can launch "
    "(loading data, waiting for a result, many small calls) to other threads, or launch more work first.";

/* The work that ended a gap, and the call that launched it; NO_PLACE where it is not known. */
struct ending {
    struct view_place work, call;
};

static int find_ending(struct ending *out, struct view *view, const struct gpu_busy_gap *gap, struct error *err)
{
    struct event_list calls = { 0 };
    struct related_correlated ids = { 0 };
    int code;

    *out = (struct ending){ NO_PLACE, NO_PLACE };
    if ((code = view_locate(view, gap->table, &gap->row, 1, &out->work, err)) != 0)
        return code == ERR_NOT_FOUND ? 0 : code;
    if (out->work.row == VIEW_NO_ROW)
        return 0;
    if ((code = related_correlated_of(&ids, view, out->work, err)) != 0 ||
        (code = related_calls(&calls, view, &ids, err)) != 0)
        goto done;
    if (calls.count) {
        event_list_sort(&calls, view);
        out->call = calls.list[0];
    }
done:
    related_correlated_free(&ids);
    event_list_free(&calls);
    return code;
}

static void add_name(struct text *out, struct view *view, struct view_place place)
{
    size_t length;
    const char *name = view_name(view, place_name(view, place), &length);

    text_add_bytes(out, name, length < LONGEST_SHOWN ? length : LONGEST_SHOWN);
    text_add(out, length > LONGEST_SHOWN ? "…" : "");
}

static void describe_events(struct text *out, struct view *view, const struct event_list *around)
{
    if (!around->count) {
        text_add(out, "was in no recorded event.");
        return;
    }
    struct view_place inner = around->list[around->count - 1];
    text_add(out, "was in ");
    add_name(out, view, inner);
    text_addf(out, " (%s)", row_types[view->rows[inner.row].type].name);
    if (around->count > 1) {
        text_add(out, ", within ");
        add_name(out, view, around->list[around->count - 2]);
    }
    text_add_char(out, '.');
}

/* The two innermost events of the launching thread at the middle of the gap. */
static int describe_thread(struct text *out, struct view *view, const struct ending *ending, int64_t from_ns,
                           int64_t to_ns, struct error *err)
{
    int64_t thread = view->rows[ending->call.row].thread, middle = from_ns + (to_ns - from_ns) / 2,
            launched = place_end(view, ending->call);
    struct event_list around = { 0 };
    int code;

    if (launched <= from_ns) {
        text_add(out,
                 " It was launched before the gap, and waited for something else: another stream, a copy, or the GPU "
                 "itself.");
        return 0;
    }
    if ((code = event_list_around(&around, view, thread, middle, middle, NO_PLACE, err)) != 0)
        goto free_around;
    text_addf(out, " Meanwhile thread %lld, which launched it, ", (long long)global_tid_number(thread));
    describe_events(out, view, &around);
free_around:
    event_list_free(&around);
    return code;
}

/* VIEW_NO_ROW if the timeline has no such GPU. */
static int gpu_row(const struct view *view, int64_t gpu)
{
    for (size_t r = 0; r < view->row_count; r++)
        if (view->rows[r].type == ROW_GPU && view->rows[r].device == gpu)
            return (int)r;
    return VIEW_NO_ROW;
}

static int add_gap(struct advice *advice, const struct gpu_busy_gap *gap, struct text *text, struct error *err)
{
    struct view *view = advice->view;
    struct ending ending;
    int64_t from = gap->start_ns, to = saturating_add(gap->start_ns, gap->length_ns);
    int code;

    if ((code = find_ending(&ending, view, gap, err)) != 0)
        return code;
    text_clear(text);
    text_addf(text, "GPU %lld was idle for ", (long long)gap->gpu);
    human_time(text, gap->length_ns);
    if (ending.work.row != VIEW_NO_ROW) {
        text_add(text, ", until ");
        add_name(text, view, ending.work);
        text_add(text, " began");
    }
    text_add_char(text, '.');
    if (ending.call.row != VIEW_NO_ROW && (code = describe_thread(text, view, &ending, from, to, err)) != 0)
        return code;
    text_addf(text, " %s", words);
    const struct advice_item item = { rule_name, title, gpu_row(view, gap->gpu), ADVICE_NO_EVENT,
                                      from,      to,    gap->length_ns,          text };
    advice_add(advice, &item);
    return 0;
}

int advice_add_gaps(struct advice *advice, struct error *err)
{
    const struct analysis_request everything = { 0 };
    struct gpu_busy busy = { 0 };
    struct text text = { 0 };
    struct advice_rule rule = { .name = rule_name, .title = title };
    int code;

    if ((code = gpu_busy_read(&busy, advice->view->report, &everything, MOST_GAPS, err)) != 0)
        goto done;
    for (; rule.count < busy.gap_count && busy.gaps[rule.count].length_ns >= LEAST_NS; rule.count++) {
        if ((code = add_gap(advice, &busy.gaps[rule.count], &text, err)) != 0)
            goto done;
        rule.impact_ns = saturating_add(rule.impact_ns, busy.gaps[rule.count].length_ns);
    }
    rule.rank = rule.impact_ns;
    rule.words = rule.count ? words : "No GPU was idle for longer than 50 µs.";
    if (busy.device_count)
        advice_add_rule(advice, &rule);
done:
    gpu_busy_free(&busy);
    text_free(&text);
    return code;
}
