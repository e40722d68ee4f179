/* The parts of each step: step_breakdown with events that its caller has. */
#ifndef TACHO_ANALYZE_REPORTS_BREAKDOWN_STEP_BREAKDOWN_H
#define TACHO_ANALYZE_REPORTS_BREAKDOWN_STEP_BREAKDOWN_H

#include "analyze/engine/analysis.h"
#include "analyze/model/places/places.h"
#include "analyze/replay/replay_events.h"

/* The table from events and places that exist; NULL: it reads them. */
int step_breakdown_of(struct report *report, const struct analysis_request *request, const struct replay_events *events,
                      struct places *places, struct table **out, struct error *err);

#endif
