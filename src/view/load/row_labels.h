/* The labels of rows. */
#ifndef TACHO_VIEW_LOAD_ROW_LABELS_H
#define TACHO_VIEW_LOAD_ROW_LABELS_H

#include "view_state.h"

/* Fills label, detail and unit of all rows, and whether they are unfolded at first. */
int labels_make(struct view *view, struct error *err);

#endif
