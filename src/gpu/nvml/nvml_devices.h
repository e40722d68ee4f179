/* The GPUs of this machine, as NVML numbers them. */
#ifndef TACHO_GPU_NVML_NVML_DEVICES_H
#define TACHO_GPU_NVML_NVML_DEVICES_H

#include "abi/nvml.h"
#include "gpu/frames/frames_out.h"

enum { NVML_DEVICES_MOST = 64 };

struct nvml_gpu {
    nvml_device handle;
    struct gpu_device facts;
};

struct nvml_gpus {
    uint32_t count;
    struct nvml_gpu gpus[NVML_DEVICES_MOST];
};

/* Finds the GPUs of a list, separated by commas: numbers, UUIDs or PCI bus ids; NULL: all. 0, or -1 with what
 * is wrong. */
int nvml_devices_find(struct nvml_gpus *gpus, const char *list, struct refusal *why);

/* Adds a frame for each. */
void nvml_devices_tell(const struct nvml_gpus *gpus);

#endif
