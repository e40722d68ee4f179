/* Frames on metrics, and what the modes for counters begin with. */
#ifndef TACHO_GPU_COUNTERS_COUNTERS_FRAMES_H
#define TACHO_GPU_COUNTERS_COUNTERS_FRAMES_H

#include "counters_list.h"

/* Sends a metric; see wire/wire_gpu.h. */
void counters_send_metric(const struct counters_entry *entry);
void counters_send_chip(const char *name);

/* Loads CUPTI and opens the chip that is named, or that of a device: 0. Sends the refusal if that fails: -1. */
int counters_begin(struct counters_host *host, const char *chip, unsigned device, const char *profiler);

#endif
