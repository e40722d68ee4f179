/* The rows of a view, in order, with the groups above them. */
#ifndef TACHO_VIEW_LOAD_ROW_TREE_H
#define TACHO_VIEW_LOAD_ROW_TREE_H

#include "view_state.h"

/* Makes view->rows of view->leaves, and moves their events there. */
int tree_build(struct view *view, struct error *err);

#endif
