/* Which launches are counted, by the NVTX ranges that they are in: see nvtx_launch.c. */
#ifndef TACHO_AGENT_NVTX_NVTX_LAUNCH_H
#define TACHO_AGENT_NVTX_NVTX_LAUNCH_H

#include <stdint.h>

struct agent_thread;

/* True if the ranges that are open in this thread, and those of the process, let a launch through. */
int nvtx_launch_is_wanted(const struct agent_thread *thread);

/* The program has called cudaProfilerStart() or a variant of it, and begins a range. */
void nvtx_launch_profiler_starts(void);

#endif
