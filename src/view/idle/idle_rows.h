/* The rows "Why idle", and how busy each GPU was. */
#ifndef TACHO_VIEW_IDLE_IDLE_ROWS_H
#define TACHO_VIEW_IDLE_IDLE_ROWS_H

#include "view/load/view_state.h"

/* Adds the rows to the leaves of the view, which has all others by then. Nothing for a report without GPU work. */
int idle_rows(struct view *view, struct error *err);

/* The table of the work that ended a gap; its row there is table_row. */
const char *idle_rows_table(const struct view_events *events, uint32_t event);

#endif
