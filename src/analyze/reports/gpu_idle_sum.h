/* Why GPUs were idle: the columns of gpu_idle_sum, the largest cause first. */
#ifndef TACHO_ANALYZE_REPORTS_GPU_IDLE_SUM_H
#define TACHO_ANALYZE_REPORTS_GPU_IDLE_SUM_H

#include "analyze/engine/analysis.h"
#include "analyze/model/places/places.h"
#include "analyze/replay/replay_events.h"

enum { IDLE_SHARE, IDLE_TOTAL, IDLE_GAPS, IDLE_MAX, IDLE_START, IDLE_GPU, IDLE_CAUSE, IDLE_WHERE, IDLE_COLUMNS };

/* The table, without details, from events and places that exist; NULL: it reads them. */
int gpu_idle_sum_of(struct report *report, const struct analysis_request *request, const struct replay_events *events,
                    struct places *places, struct table **out, struct error *err);

#endif
