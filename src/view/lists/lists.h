/* The requests for lists of events and their figures, called through the table in timeline.c. All are of
 * VIEW_LANE_FIND: they share its search and its counts of names. */
#ifndef TACHO_VIEW_LISTS_LISTS_H
#define TACHO_VIEW_LISTS_LISTS_H

#include "view/answer/arguments.h"
#include "view/load/view_state.h"

int view_events(struct view *view, const struct arguments *arguments, struct text *out, struct error *err);
int view_siblings(struct view *view, const struct arguments *arguments, struct text *out, struct error *err);
int view_selection(struct view *view, const struct arguments *arguments, struct text *out, struct error *err);

#endif
