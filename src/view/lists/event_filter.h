/* The events of a list: those of some rows, a span, matching names and a range of durations. A pass goes over them by
 * row, lane and start. It skips the rows whose names do not match and, in each lane, the events outside the span; it
 * keeps nothing, so that a list of ten million events needs no memory. */
#ifndef TACHO_VIEW_LISTS_EVENT_FILTER_H
#define TACHO_VIEW_LISTS_EVENT_FILTER_H

#include "view/answer/arguments.h"
#include "view/answer/name_search.h"
#include "view/load/event_search.h"

struct event_filter {
    struct view *view;
    uint8_t *rows;              /* owned; by row: whether its events count */
    int64_t from_ns, to_ns;     /* events overlap [from, to); they contain or start at an empty span */
    int64_t least_ns, most_ns;  /* durations, both inclusive */
    struct name_search *search; /* NULL: all names */
};

/* Reads rows, from, to, least, most, same and the search (text, mode, case, name); ERR_BAD_ARGUMENT, ERR_NOT_FOUND,
 * ERR_NO_MEMORY. event_filter_free() is right after an error too. */
/* same=ROW,EVENT stands for the name of that event in rows of the same type: the projection of a range onto a GPU is
 * not of the same kind as the range. */
int event_filter_read(struct event_filter *filter, struct view *view, const struct arguments *arguments,
                      struct error *err);
void event_filter_free(struct event_filter *filter);

/* The events of a lane that overlap the span: first … behind - 1. */
void event_filter_lane(const struct event_filter *filter, const struct view_events *events, uint32_t lane,
                       uint32_t *first, uint32_t *behind);
/* 1: row and names of the row may match; 0: no event of the row does; else an ERR_ code. */
int event_filter_has_row(struct event_filter *filter, int row, struct error *err);
/* 1: the event belongs to the list, if its lane's range has it; 0: not; else an ERR_ code. */
static inline int event_filter_takes(struct event_filter *filter, const struct view_events *events, uint32_t event,
                                     struct error *err)
{
    int64_t length = event_length(events, event);

    if (length < filter->least_ns || length > filter->most_ns)
        return 0;
    return filter->search ? name_search_matches(filter->search, filter->view, events->name[event], err) : 1;
}

/* The event that an argument names by row and index: ERR_BAD_ARGUMENT or ERR_NOT_FOUND with a sentence. *row stays as
 * it is if there is no such argument. */
int event_filter_argument(const struct view *view, const struct arguments *arguments, const char *name, int *row,
                          uint32_t *event, struct error *err);

/* Called for each event of a pass; a code other than 0 ends the pass. */
typedef int (*event_filter_take)(void *context, int row, uint32_t event);
/* 0, the code of take, or ERR_CANCELLED, ERR_BAD_ARGUMENT (a regular expression that takes too long), ERR_NO_MEMORY. */
int event_filter_each(struct event_filter *filter, event_filter_take take, void *context, struct error *err);
/* Whether an event belongs to the list: 1, 0, or an ERR_ code. */
int event_filter_has(struct event_filter *filter, int row, uint32_t event, struct error *err);

#endif
