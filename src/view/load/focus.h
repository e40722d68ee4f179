/* The stretch of time that is shown when a report is opened. */
#ifndef TACHO_VIEW_LOAD_FOCUS_H
#define TACHO_VIEW_LOAD_FOCUS_H

struct view;

/* Sets the view's focus, and folds processes and threads that have nothing in it. A report with work on GPUs opens at
 * that work if it is less than half of the time: programs often spend most of it on their start, and the rows of the
 * GPUs, which stand at the top, would be blank. Any other report opens whole. */
void focus_find(struct view *view);

#endif
