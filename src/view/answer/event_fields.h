/* The columns of one row of a table, as people read them. */
#ifndef TACHO_VIEW_ANSWER_EVENT_FIELDS_H
#define TACHO_VIEW_ANSWER_EVENT_FIELDS_H

#include "view/load/view_state.h"

/* The members of the list "fields"; nothing for a row that cannot be read. */
int event_fields_add(struct view *view, struct text *out, const char *table, uint64_t table_row, struct error *err);

/* Adds a whole number; as text if a double does not represent it exactly. */
void event_fields_add_int(struct text *out, int64_t value);
/* Adds any time of the report as time since the origin. */
void event_fields_add_time(const struct view *view, struct text *out, int64_t time_ns);

#endif
