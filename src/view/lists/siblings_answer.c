/* The request siblings: one event among those of its name (event_filter.h), and how long they take. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/json_write.h"
#include "event_pages.h"
#include "view/answer/answers.h"

enum { BARS = 32, WIDE = 8 }; /* from a ratio of WIDE on, bars are as wide as their durations are long */

struct siblings {
    const struct view *view;
    int64_t length_ns; /* that of the requested event */
    uint64_t count, shorter, equal;
    int64_t least_ns, most_ns;
    double total_ns;
    int64_t edges[BARS + 1]; /* bar i has durations from edges[i] to edges[i + 1] - 1 */
    uint64_t counts[BARS];
    int bars;
};

static int siblings_answer_measure(void *context, int row, uint32_t event)
{
    struct siblings *siblings = context;
    int64_t length = event_length(&siblings->view->rows[row].events, event);

    siblings->count++;
    siblings->shorter += length < siblings->length_ns;
    siblings->equal += length == siblings->length_ns;
    siblings->least_ns = length < siblings->least_ns ? length : siblings->least_ns;
    siblings->most_ns = length > siblings->most_ns ? length : siblings->most_ns;
    siblings->total_ns += (double)length;
    return 0;
}

/* Equal steps, or equal ratios if the longest is many times the shortest; whole ns, each edge once. */
static void find_edges(struct siblings *siblings)
{
    double least = (double)siblings->least_ns, most = (double)siblings->most_ns + 1, low = least > 0 ? least : 1;
    int is_wide = most > low * WIDE;

    siblings->edges[0] = siblings->least_ns;
    for (int i = 1; i <= BARS; i++) {
        double part = (double)i / BARS, edge = is_wide ? low * pow(most / low, part) : least + (most - least) * part;
        int64_t whole = i == BARS ? siblings->most_ns + 1 : (int64_t)edge;
        if (whole > siblings->edges[siblings->bars])
            siblings->edges[++siblings->bars] = whole;
    }
}

static int fill_bar(void *context, int row, uint32_t event)
{
    struct siblings *siblings = context;
    int64_t length = event_length(&siblings->view->rows[row].events, event);

    siblings->counts[BISECT(1, siblings->bars, i, siblings->edges[i] <= length) - 1]++;
    return 0;
}

/* The duration in the middle: that of the first of two. */
static int find_median(struct event_filter *filter, uint64_t count, int64_t *median_ns, struct error *err)
{
    struct event_order order = { filter->view, SORT_DURATION, 0, NULL };
    struct event_page_wanted wanted = { (count - 1) / 2, 1, VIEW_NO_ROW, 0 };
    struct event_page page = { 0 };
    int code = event_page_read(&page, filter, &order, &wanted, err);

    if (page.count)
        *median_ns = (int64_t)page.list[0].first;
    event_page_free(&page);
    return code;
}

static void siblings_answer_add_answer(const struct siblings *siblings, const struct event_page *place, uint32_t name,
                                       int64_t median, struct text *out)
{
    json_addf(out, "{'name':%u,'count':%ju,'position':%jd,'shorter':%ju,'equal':%ju,'min':%jd,'median':%jd,'max':%jd",
              name, siblings->count, place->position, siblings->shorter, siblings->equal, siblings->least_ns, median,
              siblings->most_ns);
    text_addf(out, ",\"total\":%.0f,\"bars\":[", siblings->total_ns);
    for (int i = 0; i < siblings->bars; i++)
        json_addf(out, "{'from':%jd,'to':%jd,'count':%ju}", siblings->edges[i], siblings->edges[i + 1] - 1,
                  siblings->counts[i]);
    text_add(out, "]}");
}

static int siblings_answer(struct event_filter *filter, int row, uint32_t event, struct text *out, struct error *err)
{
    const struct view_events *events = &filter->view->rows[row].events;
    struct siblings siblings = { .view = filter->view,
                                 .length_ns = event_length(events, event),
                                 .least_ns = INT64_MAX };
    struct event_order order = { filter->view, SORT_START, 0, NULL };
    struct event_page_wanted wanted = { 0, 0, row, event };
    struct event_page place = { 0 };
    int64_t median = 0;
    int code;

    if ((code = event_filter_each(filter, siblings_answer_measure, &siblings, err)) != 0 ||
        (code = event_page_read(&place, filter, &order, &wanted, err)) != 0)
        return code;
    find_edges(&siblings);
    if ((code = event_filter_each(filter, fill_bar, &siblings, err)) == 0 &&
        (code = find_median(filter, siblings.count, &median, err)) == 0)
        siblings_answer_add_answer(&siblings, &place, event_name(events, event), median, out);
    event_page_free(&place);
    return code;
}

int view_siblings(struct view *view, const struct arguments *arguments, struct text *out, struct error *err)
{
    struct event_filter filter = { 0 };
    struct arguments same = { .request = arguments->request, .count = 1 };
    int64_t row = 0, event = 0;
    char place[48];
    int code;

    if ((code = argument_int_needed(arguments, "row", 0, INT32_MAX, &row, err)) != 0 ||
        (code = argument_int_needed(arguments, "event", 0, UINT32_MAX, &event, err)) != 0)
        return code;
    snprintf(place, sizeof place, "%lld,%lld", (long long)row, (long long)event);
    same.list[0] = (struct argument){ "same", place, strlen(place) };
    if ((code = event_filter_read(&filter, view, &same, err)) == 0)
        code = siblings_answer(&filter, (int)row, (uint32_t)event, out, err);
    event_filter_free(&filter);
    return code;
}
