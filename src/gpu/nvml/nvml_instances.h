/* MIG: the instances into which a GPU is divided. */
#ifndef TACHO_GPU_NVML_NVML_INSTANCES_H
#define TACHO_GPU_NVML_NVML_INSTANCES_H

#include "nvml_devices.h"

/* A compute instance, and the GPU instance that it is a part of. */
struct nvml_instance {
    nvml_device handle;
    uint32_t gpu_instance, compute_instance;
};
enum { NVML_INSTANCES_MOST = 64 };

/* Finds the instances of a GPU; none if MIG is off. */
uint32_t nvml_instances_find(const struct nvml_gpu *gpu, struct nvml_instance list[NVML_INSTANCES_MOST]);

/* Adds a frame for each. */
void nvml_instances_tell(const struct nvml_gpu *gpu);

#endif
