/* A page of a list of events in its order, without the list: the place of a page is found by counting, so that memory
 * is bounded however long the list is. */
#ifndef TACHO_VIEW_LISTS_EVENT_PAGES_H
#define TACHO_VIEW_LISTS_EVENT_PAGES_H

#include "event_filter.h"
#include "event_order.h"

struct event_page {
    struct event_key *list; /* owned; in order */
    size_t count;
    uint64_t total;         /* events of the list */
    int64_t position;       /* place of the wanted event in the list, from 0; -1: the list lacks it */
};

struct event_page_wanted {
    uint64_t offset;
    size_t limit;
    int row; /* the event whose position is asked for; VIEW_NO_ROW: none */
    uint32_t event;
};

/* Fills *page, which must be {0}; codes as of event_filter_each(). */
int event_page_read(struct event_page *page, struct event_filter *filter, const struct event_order *order,
                    const struct event_page_wanted *wanted, struct error *err);
void event_page_free(struct event_page *page);

#endif
