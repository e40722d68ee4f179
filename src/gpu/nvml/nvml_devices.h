/* The GPUs of this machine, as NVML numbers them. */
#ifndef TACHO_GPU_NVML_NVML_DEVICES_H
#define TACHO_GPU_NVML_NVML_DEVICES_H

#include "abi/nvml.h"
#include "wire/wire_gpu.h"

enum { NVML_DEVICES_MOST = 64 };

struct nvml_gpu {
    nvml_device handle;
    struct gpu_device facts;
};

struct nvml_gpus {
    uint32_t count;
    struct nvml_gpu gpus[NVML_DEVICES_MOST];
};

/* Finds the GPUs of a list, separated by commas: numbers, UUIDs or PCI bus ids; NULL: all. NULL, or a sentence that
 * says what is wrong. */
const char *nvml_devices_find(struct nvml_gpus *gpus, const char *list);

/* Adds a frame for each. */
void nvml_devices_tell(const struct nvml_gpus *gpus);

#endif
