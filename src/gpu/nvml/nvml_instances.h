/* MIG: the instances into which a GPU is divided. */
#ifndef TACHO_GPU_NVML_NVML_INSTANCES_H
#define TACHO_GPU_NVML_NVML_INSTANCES_H

#include "nvml_devices.h"

/* Adds a frame for each instance of a GPU; none if MIG is off. */
void nvml_instances_tell(const struct nvml_gpu *gpu);

#endif
