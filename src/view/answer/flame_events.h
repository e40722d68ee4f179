/* A flame graph of the slices of a row. */
#ifndef TACHO_VIEW_ANSWER_FLAME_EVENTS_H
#define TACHO_VIEW_ANSWER_FLAME_EVENTS_H

#include "flame_graph.h"

int flame_of_events(struct flame *flame, struct view *view, int row, const struct report_span *span, struct error *err);

#endif
