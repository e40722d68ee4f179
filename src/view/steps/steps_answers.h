/* The requests about steps and about two runs, called through the table in timeline.c. */
#ifndef TACHO_VIEW_STEPS_STEPS_ANSWERS_H
#define TACHO_VIEW_STEPS_STEPS_ANSWERS_H

#include "view/answer/arguments.h"
#include "view/load/view_state.h"

int view_steps(struct view *view, const struct arguments *arguments, struct text *out, struct error *err);
int view_diff(struct view *view, const struct arguments *arguments, struct text *out, struct error *err);

#endif
