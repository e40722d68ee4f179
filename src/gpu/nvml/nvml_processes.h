/* The processes on a GPU, and what each uses of it. */
#ifndef TACHO_GPU_NVML_NVML_PROCESSES_H
#define TACHO_GPU_NVML_NVML_PROCESSES_H

#include "nvml_devices.h"

/* Adds a frame for each process. since_us: the time up to which utilisation was told before, moved on to the newest. */
void nvml_processes_tell(const struct nvml_gpu *gpu, uint64_t *since_us);

#endif
