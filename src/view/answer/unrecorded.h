/* The call stack that an event lacks, and the option of `tacho profile` that records it. */
#ifndef TACHO_VIEW_ANSWER_UNRECORDED_H
#define TACHO_VIEW_ANSWER_UNRECORDED_H

#include "view/load/view_state.h"

/* Adds {"data", "option"}, or null if no option would record more about events of this row. process: the one that the
 * event belongs to, a global id; -1: not known, and then any process counts. */
void unrecorded_add(struct view *view, struct text *out, int row, int64_t process);

#endif
