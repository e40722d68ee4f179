/* Loads CUPTI for its counters: 12.6 or later. */
#ifndef TACHO_GPU_COUNTERS_COUNTERS_LIBRARY_H
#define TACHO_GPU_COUNTERS_COUNTERS_LIBRARY_H

#include "abi/cupti_profiler.h"
#include "gpu/frames/frames_out.h"

extern struct cupti_profiler counters_cupti;

/* Lets CUDA number GPUs as NVML does: by the PCI bus, and without hiding any. No tool is to be loaded into this
 * process: there is one user of CUPTI in a process. To be called before CUDA is loaded. */
void counters_set_environment(void);

/* Finds and loads it: 0, or -1 with the reason. */
int counters_load(struct refusal *why);

/* Lets CUPTI stamp samples with CLOCK_MONOTONIC: 0, or -1 with the reason. */
int counters_set_clock(struct refusal *why);

/* The sentence for one of CUPTI's results, for the end of another: "permission denied" and so on. */
const char *counters_result_text(int result);

/* The name of the chip of a device, by CUDA's number: NULL, with a sentence in *why. Initializes CUDA, which has no
 * context then. */
const char *counters_chip_of(unsigned device, const char **why);

/* Whether a chip has counters of kernels, but none over time. */
int counters_is_volta(const char *chip);

#endif
