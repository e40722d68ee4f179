/* Finds the places in the timeline of rows of a summary's tables. */
#ifndef TACHO_VIEW_SUMMARY_SUMMARY_PLACES_H
#define TACHO_VIEW_SUMMARY_SUMMARY_PLACES_H

#include "analyze/engine/table.h"
#include "view/load/event_locate.h"

/* The kind of place that a row of a table stands for. */
enum summary_place {
    SUMMARY_NOWHERE,
    SUMMARY_BY_NAME,   /* the longest event of the name in a column; the first of equal ones */
    SUMMARY_BY_THREAD, /* the same on the thread of the column TID; "[preempted]": when it was runnable */
    SUMMARY_BY_STEP,   /* the step of the columns Start and PID */
    SUMMARY_BY_GAP,    /* the gap of the GPU in the column GPU that holds the time; without one, as SUMMARY_BY_TIME */
    SUMMARY_BY_TIME    /* the time from the column `name` on, as long as the column `length` says */
};

struct summary_places {
    enum summary_place how;
    enum row_type row;  /* the type of the rows to search */
    const char *name;   /* the column with the name, or the time */
    const char *length; /* a column with a duration, or with the end where until is set; NULL: a moment */
    int until;
};

/* row is VIEW_NO_ROW for a span of time alone; is_found: 0 where the row has no place. */
struct summary_found {
    struct view_place place;
    int64_t from_ns, to_ns;
    int is_found;
};

enum { SUMMARY_ROWS = 300 }; /* rows of a table whose places are searched */

/* Fills out[0 … rows - 1] for the first rows of a table; ERR_NO_MEMORY or 0. */
int summary_places_find(struct summary_found *out, struct view *view, const struct table *table, size_t rows,
                        const struct summary_places *places, struct error *err);

#endif
