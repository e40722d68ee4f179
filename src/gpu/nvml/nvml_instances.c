/* NVML gives no utilisation of instances. GPM does, for each GPU instance, on Hopper and later. */
#include "nvml_instances.h"

#include <math.h>
#include <stdio.h>

#include "gpu/frames/frames_out.h"
#include "nvml_gpm.h"
#include "nvml_library.h"

enum { INSTANCES_MOST = 16 }; /* NVML's ids of GPU instances are smaller */

/* GPM's samples of an instance; it is made when the instance is first seen. */
struct activity {
    int is_made;
    struct nvml_gpm *gpm;
    struct gpu_value values[3];
};

static struct activity activities[NVML_DEVICES_MOST][INSTANCES_MOST];

/* Several compute instances share a GPU instance, and are told one after the other: the samples of a round are the
 * first one's. */
static const struct gpu_value *read_activity(const struct nvml_gpu *gpu, uint32_t id, int is_first)
{
    static const struct gpu_value unknown[] = { { .value = NAN }, { .value = NAN }, { .value = NAN } };

    if (gpu->facts.device >= NVML_DEVICES_MOST || id >= INSTANCES_MOST)
        return unknown;
    struct activity *activity = &activities[gpu->facts.device][id];
    if (!activity->is_made)
        *activity = (struct activity){
            1,
            nvml_gpm_new(gpu, id),
            { { GPU_READING_GPM_SM, 0, NAN }, { GPU_READING_GPM_TENSOR, 0, NAN }, { GPU_READING_GPM_DRAM, 0, NAN } }
        };
    if (activity->gpm && is_first)
        nvml_gpm_read(activity->gpm, activity->values, 3);
    return activity->values;
}

static void tell(const struct nvml_gpu *gpu, nvml_device handle, uint32_t *seen)
{
    struct gpu_instance instance = { .device = gpu->facts.device, .memory_used_bytes = UINT64_MAX };
    struct nvml_memory memory = { 0 };

    if (NVML(nvmlDeviceGetGpuInstanceId, handle, &instance.gpu_instance) ||
        NVML(nvmlDeviceGetComputeInstanceId, handle, &instance.compute_instance))
        return;
    NVML(nvmlDeviceGetName, handle, instance.name, sizeof instance.name);
    NVML(nvmlDeviceGetUUID, handle, instance.uuid, sizeof instance.uuid);
    instance.memory_bytes = UINT64_MAX;
    if (NVML(nvmlDeviceGetMemoryInfo, handle, &memory) == NVML_SUCCESS) {
        instance.memory_used_bytes = memory.used;
        instance.memory_bytes = memory.total;
    }
    uint32_t bit = 1u << instance.gpu_instance % 32;
    const struct gpu_value *values = read_activity(gpu, instance.gpu_instance, !(*seen & bit));
    *seen |= bit;
    instance.sm = values[0].value;
    instance.tensor = values[1].value;
    instance.dram = values[2].value;
    frames_add(GPU_FRAME_INSTANCE, &instance, sizeof instance);
}

void nvml_instances_tell(const struct nvml_gpu *gpu)
{
    uint32_t is_on = 0, pending = 0, count = 0, seen = 0;

    if (NVML(nvmlDeviceGetMigMode, gpu->handle, &is_on, &pending) || !is_on ||
        NVML(nvmlDeviceGetMaxMigDeviceCount, gpu->handle, &count))
        return;
    for (uint32_t i = 0; i < count; i++) {
        nvml_device handle = NULL;
        if (NVML(nvmlDeviceGetMigDeviceHandleByIndex, gpu->handle, i, &handle) == NVML_SUCCESS)
            tell(gpu, handle, &seen);
    }
}
