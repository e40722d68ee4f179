/* From gathered events to rows. */
#ifndef TACHO_VIEW_LOAD_GATHER_ROWS_H
#define TACHO_VIEW_LOAD_GATHER_ROWS_H

#include "gather.h"

/* Adds the rows of all gathered events to the leaves of the view. */
int gather_finish(struct gather *gather, struct error *err);

#endif
