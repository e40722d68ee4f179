/* What a refusal of CUPTI means for the counters of a GPU. */
#ifndef TACHO_GPU_COUNTERS_COUNTERS_REFUSAL_H
#define TACHO_GPU_COUNTERS_COUNTERS_REFUSAL_H

#include "gpu/frames/frames_out.h"

/* Fills in the refusal for a result of `call`. If others hold the counters, looks for them among the processes. */
void counters_refusal(struct refusal *why, const char *call, int result);

#endif
