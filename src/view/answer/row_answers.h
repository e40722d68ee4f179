/* Rows, events and tables as arguments of requests and as parts of answers. */
#ifndef TACHO_VIEW_ANSWER_ROW_ANSWERS_H
#define TACHO_VIEW_ANSWER_ROW_ANSWERS_H

#include "arguments.h"
#include "view/links/event_json.h"
#include "view/load/view_state.h"

/* The row that an argument names: ERR_NOT_FOUND or ERR_BAD_ARGUMENT with a sentence. */
int view_argument_row(const struct view *view, const struct arguments *arguments, const char *name, int *out,
                      struct error *err);
/* The arguments from and to, as times of the report; without them all of it (INT64_MIN, INT64_MAX). */
int view_argument_span(const struct view *view, const struct arguments *arguments, struct report_span *out,
                       struct error *err);

struct analysis;
struct table;
/* The members of the answer to table, with at most so many rows, without the braces (table_answer.c). */
void view_add_table_members(struct view *view, struct text *out, const struct analysis *analysis,
                            const struct table *table, size_t limit);

#endif
