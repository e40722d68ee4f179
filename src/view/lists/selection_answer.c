/* The request selection: the figures of the events of some rows in a span: how many, how long in all, how long at least
 * one of them ran, and the same by row and by name. Only the part of an event inside the span counts. */
#include <stdlib.h>

#include "analyze/engine/keys.h"
#include "base/array.h"
#include "base/cancel.h"
#include "base/json_write.h"
#include "event_filter.h"
#include "view/answer/answers.h"

enum { USUAL_NAMES = 200, MOST_NAMES = 10000, EVENTS_A_CHECK = 1 << 16 };

struct select_answer_sum {
    uint32_t key; /* number of the name in keys, or the row */
    uint64_t count;
    int64_t total_ns;
};

struct lane_head { /* the next event of a lane */
    int row;
    uint32_t at, behind;
    int64_t start_ns;
};

struct selection {
    struct event_filter filter;
    struct lane_head *heads;                    /* owned; a heap, the earliest first */
    size_t head_count, head_room;
    struct keys names;
    struct select_answer_sum *by_name, *by_row; /* owned */
    size_t name_room;
    struct select_answer_sum all;
    int64_t busy_ns, busy_to_ns;                /* busy_to_ns: the end of the busy time so far */
};

static void select_answer_selection_free(struct selection *selection)
{
    event_filter_free(&selection->filter);
    free(selection->heads);
    keys_free(&selection->names);
    free(selection->by_name);
    free(selection->by_row);
}

/* ---- the events of all lanes by start -------------------------------------------------------------------------- */

static void sift_down(struct lane_head *heap, size_t count, size_t at)
{
    for (size_t child; (child = 2 * at + 1) < count; at = child) {
        child += child + 1 < count && heap[child + 1].start_ns < heap[child].start_ns;
        if (heap[at].start_ns <= heap[child].start_ns)
            return;
        struct lane_head earlier = heap[child];
        heap[child] = heap[at];
        heap[at] = earlier;
    }
}

/* Moves the head to the next event that the filter takes: 1, 0 at the end of the lane, or an ERR_ code. */
static int select_answer_advance(struct selection *selection, struct lane_head *head, struct error *err)
{
    const struct view_events *events = &selection->filter.view->rows[head->row].events;

    for (; head->at < head->behind; head->at++) {
        int takes = event_filter_takes(&selection->filter, events, head->at, err);
        if (takes) {
            head->start_ns = events->start_ns[head->at];
            return takes;
        }
    }
    return 0;
}

static int select_answer_add_lane(struct selection *selection, int row, uint32_t lane, struct error *err)
{
    struct lane_head head = { .row = row };
    int code;

    event_filter_lane(&selection->filter, &selection->filter.view->rows[row].events, lane, &head.at, &head.behind);
    if ((code = select_answer_advance(selection, &head, err)) <= 0)
        return code;
    if (ARRAY_PUSH(selection->heads, selection->head_room, selection->head_count, head) != 0)
        return error_no_memory(err);
    return 0;
}

static int select_answer_add_lanes(struct selection *selection, struct error *err)
{
    const struct view *view = selection->filter.view;
    int code;

    for (int row = 0; row < (int)view->row_count; row++) {
        if ((code = event_filter_has_row(&selection->filter, row, err)) < 0)
            return code;
        for (uint32_t lane = 0; code == 1 && lane < view->rows[row].events.lane_count; lane++) {
            int failed = select_answer_add_lane(selection, row, lane, err);
            if (failed)
                return failed;
        }
    }
    for (size_t i = selection->head_count / 2; i-- > 0;)
        sift_down(selection->heads, selection->head_count, i);
    return 0;
}

/* ---- figures --------------------------------------------------------------------------------------------------- */

static void select_answer_add_to(struct select_answer_sum *sum, int64_t length)
{
    sum->count++;
    sum->total_ns += length;
}

static int select_answer_count_event(struct selection *selection, const struct lane_head *head, struct error *err)
{
    const struct view_events *events = &selection->filter.view->rows[head->row].events;
    int64_t from = events->start_ns[head->at], to = event_end(events, head->at), key = event_name(events, head->at);
    size_t before = selection->names.count;
    uint32_t name = keys_add(&selection->names, &key);

    if (name == NO_KEY ||
        array_reserve(&selection->by_name, &selection->name_room, (size_t)name + 1, sizeof *selection->by_name) != 0)
        return error_short_memory(err, "to sum up by name");
    if (selection->names.count > before)
        selection->by_name[name] = (struct select_answer_sum){ .key = name };
    from = from < selection->filter.from_ns ? selection->filter.from_ns : from;
    to = to > selection->filter.to_ns ? selection->filter.to_ns : to;
    int64_t length = to > from ? to - from : 0;
    select_answer_add_to(&selection->by_name[name], length);
    select_answer_add_to(&selection->by_row[head->row], length);
    select_answer_add_to(&selection->all, length);
    from = from < selection->busy_to_ns ? selection->busy_to_ns : from;
    if (to > from)
        selection->busy_ns += to - from;
    selection->busy_to_ns = to > selection->busy_to_ns ? to : selection->busy_to_ns;
    return 0;
}

static int select_answer_sum_up(struct selection *selection, struct error *err)
{
    int code;

    while (selection->head_count) {
        struct lane_head *head = selection->heads;
        if ((code = select_answer_count_event(selection, head, err)) != 0)
            return code;
        head->at++;
        int has_next = select_answer_advance(selection, head, err);
        if (has_next < 0)
            return has_next;
        if (!has_next)
            *head = selection->heads[--selection->head_count];
        sift_down(selection->heads, selection->head_count, 0);
        if (selection->all.count % EVENTS_A_CHECK == 0 && cancel_is_raised(cancel_flag()))
            return error_set(err, ERR_CANCELLED, "the request was cancelled");
    }
    return 0;
}

/* ---- the answer ------------------------------------------------------------------------------------------------ */

/* The longest first, then those that were met first. */
static int select_answer_by_total(const void *a, const void *b)
{
    const struct select_answer_sum *left = a, *right = b;
    int order = COMPARE(right->total_ns, left->total_ns) ?: COMPARE(right->count, left->count);

    return order ?: COMPARE(left->key, right->key);
}

static void select_answer_add_sum(struct text *out, const struct select_answer_sum *sum)
{
    json_addf(out, "'count':%ju,'total':%jd", sum->count, sum->total_ns);
}

static void select_answer_add_answer(struct selection *selection, size_t most_names, struct text *out)
{
    struct view *view = selection->filter.view;
    size_t names = selection->names.count, shown = names < most_names ? names : most_names;

    json_addf(out, "{");
    select_answer_add_sum(out, &selection->all);
    json_addf(out, "'busy':%jd,'rows':[", selection->busy_ns);
    for (size_t i = 0; i < view->row_count; i++) {
        if (!selection->by_row[i].count)
            continue;
        json_addf(out, "{'row':%zu", i);
        select_answer_add_sum(out, &selection->by_row[i]);
        text_add_char(out, '}');
    }
    if (names)
        qsort(selection->by_name, names, sizeof *selection->by_name, select_answer_by_total);
    json_addf(out, "],'different':%zu,'names':[", names);
    for (size_t i = 0; i < shown; i++) {
        uint32_t name = (uint32_t)*keys_get(&selection->names, selection->by_name[i].key);
        json_addf(out, "{'id':%u,'name':", name);
        view_add_name(view, out, name);
        select_answer_add_sum(out, &selection->by_name[i]);
        text_add_char(out, '}');
    }
    text_add(out, "]}");
}

int view_selection(struct view *view, const struct arguments *arguments, struct text *out, struct error *err)
{
    struct selection selection = { .names.width = 1, .busy_to_ns = INT64_MIN };
    int64_t limit = USUAL_NAMES;
    int code;

    if ((code = argument_int(arguments, "limit", 0, MOST_NAMES, &limit, err)) != 0 ||
        (code = event_filter_read(&selection.filter, view, arguments, err)) != 0)
        goto done;
    selection.by_row = calloc(view->row_count + 1, sizeof *selection.by_row);
    if (!selection.by_row && (code = error_no_memory(err)) != 0)
        goto done;
    if ((code = select_answer_add_lanes(&selection, err)) == 0 && (code = select_answer_sum_up(&selection, err)) == 0)
        select_answer_add_answer(&selection, (size_t)limit, out);
done:
    select_answer_selection_free(&selection);
    return code;
}
