/* The request events: a page of a list of events, in any order. */
#include "base/json_write.h"
#include "event_pages.h"
#include "view/answer/answers.h"
#include "view/answer/row_answers.h"

enum { USUAL_LIMIT = 200, MOST_LIMIT = 10000, MOST_BINS = 4096 };

/* The parts of the report's time in which events of the list start. */
struct bins {
    const struct view *view;
    double scale; /* parts for each ns */
    size_t count;
    uint8_t used[MOST_BINS];
};

static int use_bin(void *context, int row, uint32_t event)
{
    struct bins *bins = context;
    double at = (double)(bins->view->rows[row].events.start_ns[event] - bins->view->begin_ns) * bins->scale;
    size_t bin = at <= 0 ? 0 : (size_t)at;

    bins->used[bin < bins->count ? bin : bins->count - 1] = 1;
    return 0;
}

static int events_answer_add_bins(struct event_filter *filter, size_t count, struct text *out, struct error *err)
{
    const struct view *view = filter->view;
    int64_t length = view->end_ns > view->begin_ns ? view->end_ns - view->begin_ns : 1;
    struct bins bins = { view, (double)count / (double)length, count, { 0 } };
    int code = event_filter_each(filter, use_bin, &bins, err);

    if (code != 0)
        return code;
    json_addf(out, "'bins':[");
    for (size_t i = 0; i < count; i++)
        if (bins.used[i])
            json_addf(out, "%zu", i);
    text_add_char(out, ']');
    return 0;
}

static void events_answer_add_page(const struct event_page *page, struct view *view, struct text *out)
{
    json_addf(out, page->position < 0 ? "{'total':%ju,'position':null" : "{'total':%ju,'position':%jd", page->total,
              page->position);
    json_addf(out, "'events':[");
    for (size_t i = 0; i < page->count; i++)
        view_add_event(view, out, (int)page->list[i].row, page->list[i].event);
    text_add_char(out, ']');
}

int view_events(struct view *view, const struct arguments *arguments, struct text *out, struct error *err)
{
    struct event_page_wanted wanted = { .row = VIEW_NO_ROW };
    struct event_page page = { 0 };
    struct event_filter filter = { 0 };
    struct event_order order;
    int64_t offset = 0, limit = USUAL_LIMIT, bins = 0;
    int code;

    if ((code = argument_int(arguments, "offset", 0, INT64_MAX, &offset, err)) != 0 ||
        (code = argument_int(arguments, "limit", 0, MOST_LIMIT, &limit, err)) != 0 ||
        (code = argument_int(arguments, "bins", 0, MOST_BINS, &bins, err)) != 0 ||
        (code = event_filter_argument(view, arguments, "at", &wanted.row, &wanted.event, err)) != 0 ||
        (code = event_order_read(&order, view, arguments, err)) != 0)
        return code;
    wanted.offset = (uint64_t)offset;
    wanted.limit = (size_t)limit;
    if ((code = event_filter_read(&filter, view, arguments, err)) != 0 ||
        (code = event_page_read(&page, &filter, &order, &wanted, err)) != 0)
        goto done;
    events_answer_add_page(&page, view, out);
    if (bins && (code = events_answer_add_bins(&filter, (size_t)bins, out, err)) != 0)
        goto done;
    text_add_char(out, '}');
done:
    event_page_free(&page);
    event_filter_free(&filter);
    return code;
}
