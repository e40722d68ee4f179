/* From a row of a table to its event. */
#ifndef TACHO_VIEW_LOAD_EVENT_LOCATE_H
#define TACHO_VIEW_LOAD_EVENT_LOCATE_H

#include "view_state.h"

/* row: VIEW_NO_ROW where the row of the table makes no event */
struct view_place {
    int row;
    uint32_t event;
};
/* Of rows of one table, in ascending order; out has room for count. ERR_NOT_FOUND if no row of the
 * timeline is made of the table. */
int view_locate(struct view *view, const char *table, const uint32_t *table_rows, size_t count, struct view_place *out,
                struct error *err);

#endif
