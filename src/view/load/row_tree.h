/* The rows of a view, in order, with the groups above them. */
#ifndef TACHO_VIEW_LOAD_ROW_TREE_H
#define TACHO_VIEW_LOAD_ROW_TREE_H

#include "gather.h"

/* Makes view->rows of view->leaves, which lose their events to them. */
int tree_build(struct view *view, struct error *err);

#endif
