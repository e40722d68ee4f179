/* The request summary: the figures of `tacho summary` (analyze/summary), each with its place in the timeline. */
#ifndef TACHO_VIEW_SUMMARY_SUMMARY_ANSWER_H
#define TACHO_VIEW_SUMMARY_SUMMARY_ANSWER_H

#include "view/answer/arguments.h"
#include "view/load/view_state.h"

/* As the functions of view/answer/answers.h. */
int view_summary_answer(struct view *view, const struct arguments *arguments, struct text *out, struct error *err);

#endif
