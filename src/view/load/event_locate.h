/* Finds the events of rows of a table. */
#ifndef TACHO_VIEW_LOAD_EVENT_LOCATE_H
#define TACHO_VIEW_LOAD_EVENT_LOCATE_H

#include "view_state.h"

/* row: VIEW_NO_ROW where the row of the table makes no event */
struct view_place {
    int row;
    uint32_t event;
};
/* Fills out[0 … count - 1] with the events of rows of a table, which must be in ascending order. ERR_NOT_FOUND if the
 * timeline has no events of that table. */
int view_locate(struct view *view, const char *table, const uint32_t *table_rows, size_t count, struct view_place *out,
                struct error *err);

#endif
