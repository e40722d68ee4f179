/* One function for each request, called through the table in timeline.c. */
#ifndef TACHO_VIEW_ANSWER_ANSWERS_H
#define TACHO_VIEW_ANSWER_ANSWERS_H

#include "arguments.h"
#include "view/load/view_state.h"

int view_about(struct view *view, const struct arguments *arguments, struct text *out, struct error *err);
int view_rows(struct view *view, const struct arguments *arguments, struct text *out, struct error *err);
int view_idle(struct view *view, const struct arguments *arguments, struct text *out, struct error *err);
int view_tile(struct view *view, const struct arguments *arguments, struct text *out, struct error *err);
int view_names(struct view *view, const struct arguments *arguments, struct text *out, struct error *err);
int view_overview(struct view *view, const struct arguments *arguments, struct text *out, struct error *err);
int view_at(struct view *view, const struct arguments *arguments, struct text *out, struct error *err);
int view_event(struct view *view, const struct arguments *arguments, struct text *out, struct error *err);
int view_find(struct view *view, const struct arguments *arguments, struct text *out, struct error *err);
int view_next(struct view *view, const struct arguments *arguments, struct text *out, struct error *err);
int view_table(struct view *view, const struct arguments *arguments, struct text *out, struct error *err);
int view_matrix(struct view *view, const struct arguments *arguments, struct text *out, struct error *err);
int view_flame(struct view *view, const struct arguments *arguments, struct text *out, struct error *err);
int view_advice(struct view *view, const struct arguments *arguments, struct text *out, struct error *err);
int view_sql(struct view *view, const struct arguments *arguments, struct text *out, struct error *err);

#endif
