/* How many events of each row have each name: counted once, so that a search asks names and not events. */
#ifndef TACHO_VIEW_ANSWER_NAME_COUNTS_H
#define TACHO_VIEW_ANSWER_NAME_COUNTS_H

#include "view/load/view_state.h"

struct name_count {
    uint32_t name, count;
};

struct name_counts_row {
    struct name_count *list; /* owned; NULL while names are about as many as events: then those are as good */
    size_t count;
};

struct name_counts {
    struct name_counts_row *rows; /* owned; by row */
    size_t row_count;
};

int name_counts_make(struct name_counts *tally, const struct view *view, struct error *err);
void name_counts_free(struct name_counts *tally); /* of {0} too */

#endif
