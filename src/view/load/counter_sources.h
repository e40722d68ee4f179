/* The tables of values over time. */
#ifndef TACHO_VIEW_LOAD_COUNTER_SOURCES_H
#define TACHO_VIEW_LOAD_COUNTER_SOURCES_H

#include "view_state.h"

/* Adds a leaf to the view for every counter of the report. */
int counter_sources_read(struct view *view, struct error *err);

#endif
