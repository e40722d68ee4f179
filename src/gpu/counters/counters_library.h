/* Loads CUPTI for its counters: 12.6 or later. */
#ifndef TACHO_GPU_COUNTERS_COUNTERS_LIBRARY_H
#define TACHO_GPU_COUNTERS_COUNTERS_LIBRARY_H

#include "abi/cupti_profiler.h"

extern struct cupti_profiler counters_cupti;

/* Finds and loads it: NULL, or a sentence that says why that failed. */
const char *counters_load(void);

/* Lets CUPTI stamp samples with CLOCK_MONOTONIC. Returns CUPTI's result. */
int counters_set_clock(void);

/* The sentence for one of CUPTI's results, for the end of another: "permission denied" and so on. */
const char *counters_result_text(int result);

/* The name of the chip of a device, by CUDA's number: NULL, with a sentence in *why. */
const char *counters_chip_of(unsigned device, const char **why);

#endif
