/* The metrics that someone may have meant. */
#ifndef TACHO_GPU_COUNTERS_COUNTERS_NEAREST_H
#define TACHO_GPU_COUNTERS_COUNTERS_NEAREST_H

#include "counters_host.h"

/* Writes a sentence with the base metrics of the chip that are closest to a name. */
void counters_nearest(struct counters_host *host, const char *name, char *sentence, size_t bytes);

#endif
