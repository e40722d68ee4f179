/* How many events of each row have each name. Counted once, so that a search goes over names instead of events. */
#ifndef TACHO_VIEW_ANSWER_NAME_COUNTS_H
#define TACHO_VIEW_ANSWER_NAME_COUNTS_H

#include "view/load/view_state.h"

struct name_count {
    uint32_t name, count;
};

struct name_counts_row {
    struct name_count *list; /* owned; NULL if there are about as many names as events, or these change:
                              * a search then reads events */
    size_t count;
};

struct name_counts {
    struct name_counts_row *rows; /* owned; by row */
    size_t row_count;
};

/* Fills *out, which must be {0}; leaves it so after an error. */
int name_counts_make(struct name_counts *out, const struct view *view, struct error *err);
void name_counts_free(struct name_counts *counts); /* {0} is fine */

#endif
