/* A GPU that NVML cannot open (no permission for its device file, fallen off the bus) is left out with a sentence. */
#include "nvml_devices.h"

#include <string.h>

#include "gpu/frames/frames_out.h"
#include "gpu/frames/word_list.h"
#include "nvml_library.h"
#include "wire/gpu_device_name.h"

static void nvml_devices_learn(struct nvml_gpu *gpu, uint32_t device)
{
    struct nvml_pci pci = { 0 };
    struct nvml_memory memory = { 0 };
    struct nvml_gpm_support support = { .version = NVML_GPM_V1 };
    int major = 0, minor = 0;

    gpu->facts = (struct gpu_device){ .device = device, .minor = GPU_ALL };
    NVML(nvmlDeviceGetName, gpu->handle, gpu->facts.name, sizeof gpu->facts.name);
    NVML(nvmlDeviceGetUUID, gpu->handle, gpu->facts.uuid, sizeof gpu->facts.uuid);
    NVML(nvmlDeviceGetMinorNumber, gpu->handle, &gpu->facts.minor);
    if (NVML(nvmlDeviceGetPciInfo_v3, gpu->handle, &pci) == NVML_SUCCESS)
        snprintf(gpu->facts.bus_id, sizeof gpu->facts.bus_id, "%.31s", pci.bus_id);
    if (NVML(nvmlDeviceGetCudaComputeCapability, gpu->handle, &major, &minor) == NVML_SUCCESS)
        gpu->facts.capability = (uint32_t)(major * 10 + minor);
    if (NVML(nvmlDeviceGetMemoryInfo, gpu->handle, &memory) == NVML_SUCCESS)
        gpu->facts.memory_bytes = memory.total;
    if (NVML(nvmlGpmQueryDeviceSupport, gpu->handle, &support) == NVML_SUCCESS)
        gpu->facts.has_gpm = support.is_supported != 0;
}

static int is_in_list(const struct gpu_device *facts, const char *list)
{
    const char *word;
    size_t length;

    while (word_list_next(&list, &word, &length))
        if (gpu_device_is_called(facts, word, length))
            return 1;
    return 0;
}

/* The first word of the list that means no GPU; NULL: each means one. */
static const char *unknown_word(const struct nvml_gpus *gpus, const char *list)
{
    const char *word;
    size_t length;

    while (word_list_next(&list, &word, &length)) {
        int is_known = 0;
        for (uint32_t i = 0; i < gpus->count; i++)
            is_known |= gpu_device_is_called(&gpus->gpus[i].facts, word, length);
        if (!is_known)
            return word;
    }
    return NULL;
}

int nvml_devices_find(struct nvml_gpus *gpus, const char *list, struct refusal *why)
{
    uint32_t count = 0, kept = 0;
    int result = NVML(nvmlDeviceGetCount_v2, &count);

    gpus->count = 0;
    if (result)
        return refusal_set(why, GPU_REFUSAL_GPUS_UNCOUNTED, nvml_result_text((uint32_t)result), NULL);
    for (uint32_t i = 0; i < count && gpus->count < NVML_DEVICES_MOST; i++) {
        struct nvml_gpu *gpu = &gpus->gpus[gpus->count];
        result = NVML(nvmlDeviceGetHandleByIndex_v2, i, &gpu->handle);
        if (result) {
            frames_add_refusal(GPU_ORIGIN_NVML, i, GPU_REFUSAL_GPU_UNREADABLE, nvml_result_text((uint32_t)result),
                               NULL);
            continue;
        }
        nvml_devices_learn(gpu, i);
        gpus->count++;
    }
    const char *unknown = unknown_word(gpus, list);
    if (unknown) {
        char numbers[32];
        gpu_device_numbers(gpus->count, numbers, sizeof numbers);
        refusal_set(why, GPU_REFUSAL_GPU_UNKNOWN, unknown, numbers);
        why->texts[0][strcspn(why->texts[0], ",")] = 0;
        return -1;
    }
    for (uint32_t i = 0; i < gpus->count; i++)
        if (!list || is_in_list(&gpus->gpus[i].facts, list))
            gpus->gpus[kept++] = gpus->gpus[i];
    gpus->count = kept;
    return kept ? 0 : refusal_set(why, GPU_REFUSAL_GPUS_NONE, NULL, NULL);
}

void nvml_devices_tell(const struct nvml_gpus *gpus)
{
    for (uint32_t i = 0; i < gpus->count; i++)
        frames_add(GPU_FRAME_DEVICE, &gpus->gpus[i].facts, sizeof gpus->gpus[i].facts);
}
