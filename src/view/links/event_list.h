/* Lists of events, and the events that hold a moment of a thread. */
#ifndef TACHO_VIEW_LINKS_EVENT_LIST_H
#define TACHO_VIEW_LINKS_EVENT_LIST_H

#include "view/load/event_locate.h"
#include "view/load/event_search.h"
#include "view/load/event_sources.h"
#include "view/load/view_state.h"

enum { MOST_PLACES = 1000 }; /* events of one kind in an answer */

struct event_list {          /* {0} is empty */
    struct view_place *list; /* owned */
    size_t count, capacity;
};
void event_list_free(struct event_list *places);
int event_list_add(struct event_list *places, struct view_place place, struct error *err);

/* Rows of one table, in any order. */
struct event_list_rows { /* {0} is empty */
    uint32_t *list;      /* owned */
    size_t count, capacity;
};
void event_list_rows_free(struct event_list_rows *rows);
int event_list_rows_add(struct event_list_rows *rows, uint64_t row); /* ERR_NO_MEMORY or 0 */
void event_list_rows_sort(struct event_list_rows *rows);

/* Adds the events of these rows of a table, and sorts the rows. A row without an event is ignored. */
int event_list_add_rows(struct event_list *places, struct view *view, const char *table, struct event_list_rows *rows,
                        struct error *err);

/* By start, the longer first; each once. */
void event_list_sort(struct event_list *places, const struct view *view);

static inline int64_t place_start(const struct view *view, struct view_place place)
{
    return view->rows[place.row].events.start_ns[place.event];
}
static inline int64_t place_end(const struct view *view, struct view_place place)
{
    return event_end(&view->rows[place.row].events, place.event);
}
static inline uint32_t place_name(const struct view *view, struct view_place place)
{
    return event_name(&view->rows[place.row].events, place.event);
}
/* "" for an event that was derived and is in no table. */
static inline const char *place_table(const struct view *view, struct view_place place)
{
    const char *table = view_event_table(&view->rows[place.row], place.event);

    return table ?: "";
}
static inline uint32_t place_table_row(const struct view *view, struct view_place place)
{
    return view->rows[place.row].events.table_row[place.event];
}
#define VIEW_NO_PLACE (struct view_place){ VIEW_NO_ROW, 0 }

/* Adds the events of a thread (calls, ranges, operators, functions) that contain a whole span, outermost first. Leaves
 * out `self` (which may be VIEW_NO_PLACE) and the events within it. Keeps the innermost MOST_PLACES. */
int event_list_around(struct event_list *places, struct view *view, int64_t thread, int64_t from_ns, int64_t to_ns,
                      struct view_place self, struct error *err);

/* Adds the events of a type on a thread that start in a span; at most this many. */
int event_list_inside(struct event_list *places, struct view *view, int64_t thread, enum row_type type, int64_t from_ns,
                      int64_t to_ns, size_t most, struct error *err);

#endif
