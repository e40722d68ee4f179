/* The orders of a list of events. Every order is total: by its own number, then by start, then by row and index. A pass
 * (event_filter.h) meets events of equal numbers in the order of the list. */
#ifndef TACHO_VIEW_LISTS_EVENT_ORDER_H
#define TACHO_VIEW_LISTS_EVENT_ORDER_H

#include "name_ranks.h"
#include "view/answer/arguments.h"
#include "view/load/event_search.h"

enum event_sort { SORT_START, SORT_DURATION, SORT_NAME, SORT_ROW, EVENT_SORTS };

struct event_order {
    struct view *view;
    enum event_sort sort;
    uint64_t flip;                  /* UINT64_MAX: from the largest to the smallest */
    const struct name_ranks *ranks; /* for SORT_NAME */
};

/* Compared by first, then second, then row, then event. */
struct event_key {
    uint64_t first, second;
    uint32_t row, event;
};

/* Reads sort and down; ERR_BAD_ARGUMENT, ERR_NO_MEMORY, ERR_CANCELLED. */
int event_order_read(struct event_order *order, struct view *view, const struct arguments *arguments,
                     struct error *err);

/* A signed number as an unsigned one of the same order. */
static inline uint64_t event_order_number(int64_t value)
{
    return (uint64_t)value ^ (UINT64_C(1) << 63);
}

static inline uint64_t event_order_first(const struct event_order *order, const struct view_events *events, int row,
                                         uint32_t event)
{
    uint64_t number = 0;

    switch (order->sort) {
    case SORT_START: number = event_order_number(events->start_ns[event]); break;
    case SORT_DURATION: number = (uint64_t)event_length(events, event); break;
    case SORT_NAME: number = name_rank(order->ranks, events->name[event]); break;
    default: number = (uint64_t)row;
    }
    return number ^ order->flip;
}

static inline struct event_key event_order_key(const struct event_order *order, int row, uint32_t event)
{
    const struct view_events *events = &order->view->rows[row].events;

    return (struct event_key){ event_order_first(order, events, row, event),
                               event_order_number(events->start_ns[event]), (uint32_t)row, event };
}

static inline int event_key_compare(const struct event_key *a, const struct event_key *b)
{
    int order = COMPARE(a->first, b->first) ?: COMPARE(a->second, b->second);

    return order ?: COMPARE(a->row, b->row) ?: COMPARE(a->event, b->event);
}

#endif
