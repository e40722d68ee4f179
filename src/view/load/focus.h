/* The span that is shown when a report is opened. */
#ifndef TACHO_VIEW_LOAD_FOCUS_H
#define TACHO_VIEW_LOAD_FOCUS_H

struct view;

/* Sets the view's focus, and folds processes and threads that have nothing in it. Programs often spend most of their
 * time on their start, or in a wait at their end, and most of the picture would be blank. So a report opens at the
 * spans that the user chose to record (TACHO_RANGE); in that, at the steps, if they are at most 80 % of it; else at the
 * work of GPUs, or without any, at the time in which threads ran, if that is at most half of it. */
void focus_find(struct view *view);

#endif
