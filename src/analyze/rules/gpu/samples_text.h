/* How rules on GPU metrics name the samples that they judge: how many, and of which source. */
#ifndef TACHO_ANALYZE_RULES_GPU_SAMPLES_TEXT_H
#define TACHO_ANALYZE_RULES_GPU_SAMPLES_TEXT_H

#include "analyze/engine/table.h"
#include "analyze/model/metrics/gpu_metric_roles.h"

/* Sets a cell to the source of a metric's samples. ERR_NO_MEMORY or 0. */
int samples_set_source(struct table *table, struct table_cell *cell, struct report *report,
                       const struct gpu_metrics *metrics, const struct gpu_metric *metric);

/* Appends "(31 samples of NVML, 10 Hz)". */
void samples_say(struct text *out, const struct table_cell *samples, const struct table_cell *source);

#endif
