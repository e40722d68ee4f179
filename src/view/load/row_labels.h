/* What rows are called. */
#ifndef TACHO_VIEW_LOAD_ROW_LABELS_H
#define TACHO_VIEW_LOAD_ROW_LABELS_H

#include "view_state.h"

/* Label, detail, unit and whether it is unfolded at first, of all rows. */
int labels_make(struct view *view, struct error *err);

#endif
