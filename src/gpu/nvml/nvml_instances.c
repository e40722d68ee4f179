/* NVML gives no utilisation of instances. GPM does, for each GPU instance, on Hopper and later. */
#include "nvml_instances.h"

#include <math.h>
#include <stdio.h>

#include "gpu/frames/frames_out.h"
#include "nvml_gpm.h"
#include "nvml_library.h"

enum { INSTANCES_MOST = 16 }; /* NVML's ids of GPU instances are smaller */

/* GPM's samples of an instance; it is made when the instance is first seen. */
struct nvml_instances_activity {
    int is_made;
    struct nvml_gpm *gpm;
    struct gpu_value values[3];
};

static struct nvml_instances_activity activities[NVML_DEVICES_MOST][INSTANCES_MOST];

/* Several compute instances share a GPU instance, and are told one after the other: the samples of a round are the
 * first one's. */
static const struct gpu_value *read_activity(const struct nvml_gpu *gpu, uint32_t id, int is_first)
{
    static const struct gpu_value unknown[] = { { .value = NAN }, { .value = NAN }, { .value = NAN } };

    if (gpu->facts.device >= NVML_DEVICES_MOST || id >= INSTANCES_MOST)
        return unknown;
    struct nvml_instances_activity *activity = &activities[gpu->facts.device][id];
    if (!activity->is_made)
        *activity = (struct nvml_instances_activity){
            1,
            nvml_gpm_new(gpu, id),
            { { GPU_READING_GPM_SM, 0, NAN }, { GPU_READING_GPM_TENSOR, 0, NAN }, { GPU_READING_GPM_DRAM, 0, NAN } }
        };
    if (activity->gpm && is_first)
        nvml_gpm_read(activity->gpm, activity->values, 3);
    return activity->values;
}

static void nvml_instance_tell(const struct nvml_gpu *gpu, const struct nvml_instance *found, int is_first)
{
    struct gpu_instance instance = { .device = gpu->facts.device,
                                     .gpu_instance = found->gpu_instance,
                                     .compute_instance = found->compute_instance,
                                     .memory_used_bytes = UINT64_MAX,
                                     .memory_bytes = UINT64_MAX };
    const struct gpu_value *values = read_activity(gpu, found->gpu_instance, is_first);
    struct nvml_memory memory = { 0 };

    NVML(nvmlDeviceGetName, found->handle, instance.name, sizeof instance.name);
    NVML(nvmlDeviceGetUUID, found->handle, instance.uuid, sizeof instance.uuid);
    if (NVML(nvmlDeviceGetMemoryInfo, found->handle, &memory) == NVML_SUCCESS) {
        instance.memory_used_bytes = memory.used;
        instance.memory_bytes = memory.total;
    }
    instance.sm = values[0].value;
    instance.tensor = values[1].value;
    instance.dram = values[2].value;
    frames_add(GPU_FRAME_INSTANCE, &instance, sizeof instance);
}

uint32_t nvml_instances_find(const struct nvml_gpu *gpu, struct nvml_instance list[NVML_INSTANCES_MOST])
{
    uint32_t is_on = 0, pending = 0, count = 0, found = 0;

    if (NVML(nvmlDeviceGetMigMode, gpu->handle, &is_on, &pending) || !is_on ||
        NVML(nvmlDeviceGetMaxMigDeviceCount, gpu->handle, &count))
        return 0;
    for (uint32_t i = 0; i < count && found < NVML_INSTANCES_MOST; i++) {
        struct nvml_instance *instance = &list[found];
        found += NVML(nvmlDeviceGetMigDeviceHandleByIndex, gpu->handle, i, &instance->handle) == NVML_SUCCESS &&
                 NVML(nvmlDeviceGetGpuInstanceId, instance->handle, &instance->gpu_instance) == NVML_SUCCESS &&
                 NVML(nvmlDeviceGetComputeInstanceId, instance->handle, &instance->compute_instance) == NVML_SUCCESS;
    }
    return found;
}

void nvml_instances_tell(const struct nvml_gpu *gpu)
{
    struct nvml_instance list[NVML_INSTANCES_MOST];
    uint32_t count = nvml_instances_find(gpu, list);

    for (uint32_t i = 0; i < count; i++) {
        int is_first = 1;
        for (uint32_t k = 0; k < i; k++)
            is_first &= list[k].gpu_instance != list[i].gpu_instance;
        nvml_instance_tell(gpu, &list[i], is_first);
    }
}
