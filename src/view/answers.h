/* The requests about what events are and what belongs to them; each is a row of view_requests. */
#ifndef TACHO_VIEW_ANSWERS_H
#define TACHO_VIEW_ANSWERS_H

#include "view_state.h"

int view_event(struct view *view, const struct arguments *arguments, struct text *out, struct error *err);
int view_find(struct view *view, const struct arguments *arguments, struct text *out, struct error *err);
int view_next(struct view *view, const struct arguments *arguments, struct text *out, struct error *err);
int view_table(struct view *view, const struct arguments *arguments, struct text *out, struct error *err);
int view_flame(struct view *view, const struct arguments *arguments, struct text *out, struct error *err);
int view_advice(struct view *view, const struct arguments *arguments, struct text *out, struct error *err);
int view_sql(struct view *view, const struct arguments *arguments, struct text *out, struct error *err);

/* The arguments from and to, as times of the report; without them all of it (INT64_MIN, INT64_MAX). */
int answers_read_span(struct view *view, const struct arguments *arguments, struct report_span *span, struct error *err);

#endif
