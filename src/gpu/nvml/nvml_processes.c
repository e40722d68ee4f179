/* Memory and kinds come from the lists of running processes, utilisation from NVML's samples of the time since the last
 * call. A process may be in several lists, and in the samples after it has ended: those are left out. With MIG, the
 * list of the whole GPU is for root alone, those of the instances for their users. */
#include "nvml_processes.h"

#include "base/array.h"
#include "gpu/frames/frames_out.h"
#include "nvml_instances.h"
#include "nvml_library.h"

enum { ROOM = 512, TRIES = 4 }; /* entries of a list, and more if NVML says that it has more */

struct nvml_processes_found {
    size_t count, room;
    struct gpu_process *processes;
};

static struct gpu_process *nvml_processes_find(struct nvml_processes_found *found, uint32_t pid)
{
    for (size_t i = 0; i < found->count; i++)
        if (found->processes[i].pid == pid)
            return &found->processes[i];
    return NULL;
}

static void nvml_processes_add_running(struct nvml_processes_found *found, const struct nvml_process *running,
                                       enum gpu_process_type type)
{
    struct gpu_process *process = nvml_processes_find(found, running->pid);

    if (!process) {
        if (array_reserve(&found->processes, &found->room, found->count + 1, sizeof *found->processes))
            return;
        process = &found->processes[found->count++];
        *process = (struct gpu_process){ .pid = running->pid,
                                         .gpu_instance = running->gpu_instance,
                                         .compute_instance = running->compute_instance,
                                         .sm = -1,
                                         .memory = -1,
                                         .encoder = -1,
                                         .decoder = -1,
                                         .jpeg = -1,
                                         .ofa = -1,
                                         .memory_bytes = running->memory_bytes,
                                         .protected_bytes = UINT64_MAX };
    }
    process->types |= type;
}

typedef int list_call(nvml_device device, uint32_t *count, struct nvml_process *processes);

/* Whether a call is to be made, or made again with more room: lists may grow in between. */
static int needs_call(int tries, int result, void *entries, size_t *room, size_t count, size_t bytes)
{
    return tries == 0 ? array_reserve(entries, room, ROOM, bytes) == 0
                      : tries < TRIES && result == NVML_INSUFFICIENT_SIZE && count > *room &&
                            array_reserve(entries, room, count + ROOM, bytes) == 0;
}

/* Lists of an instance need not name it. */
static void nvml_processes_add_list(struct nvml_processes_found *found, const struct nvml_instance *of, list_call *call,
                                    enum gpu_process_type type)
{
    static struct nvml_process *running;
    static size_t room;
    uint32_t count = 0;
    int result = NVML_UNKNOWN;

    for (int i = 0; call && needs_call(i, result, &running, &room, count, sizeof *running); i++) {
        count = (uint32_t)room;
        result = call(of->handle, &count, running);
    }
    for (uint32_t i = 0; result == NVML_SUCCESS && i < count && i < room; i++) {
        if (running[i].gpu_instance == GPU_ALL) {
            running[i].gpu_instance = of->gpu_instance;
            running[i].compute_instance = of->compute_instance;
        }
        nvml_processes_add_running(found, &running[i], type);
    }
}

static void add_lists(struct nvml_processes_found *found, const struct nvml_instance *of)
{
    nvml_processes_add_list(found, of, nvml.nvmlDeviceGetComputeRunningProcesses_v3, GPU_PROCESS_COMPUTE);
    nvml_processes_add_list(found, of, nvml.nvmlDeviceGetGraphicsRunningProcesses_v3, GPU_PROCESS_GRAPHICS);
    nvml_processes_add_list(found, of, nvml.nvmlDeviceGetMPSComputeRunningProcesses_v3, GPU_PROCESS_MPS);
}

/* Drivers from 550: with JPEG and optical flow. 0: done. */
static int add_utilization(struct nvml_processes_found *found, nvml_device device, uint64_t *since_us)
{
    static struct nvml_process_info *samples;
    static size_t room;
    struct nvml_processes_info info = { 0 };
    int result = NVML_UNKNOWN;

    for (int i = 0; needs_call(i, result, &samples, &room, info.count, sizeof *samples); i++) {
        info = (struct nvml_processes_info){ NVML_PROCESSES_INFO_V1, (uint32_t)room, *since_us, samples };
        result = NVML(nvmlDeviceGetProcessesUtilizationInfo, device, &info);
    }
    for (uint32_t i = 0; result == NVML_SUCCESS && i < info.count && i < room; i++) {
        const struct nvml_process_info *sample = &samples[i];
        struct gpu_process *process = nvml_processes_find(found, sample->pid);
        if (process && sample->time_us > *since_us) {
            process->sm = (int32_t)sample->sm;
            process->memory = (int32_t)sample->memory;
            process->encoder = (int32_t)sample->encoder;
            process->decoder = (int32_t)sample->decoder;
            process->jpeg = (int32_t)sample->jpeg;
            process->ofa = (int32_t)sample->ofa;
        }
    }
    for (uint32_t i = 0; result == NVML_SUCCESS && i < info.count && i < room; i++)
        if (samples[i].time_us > *since_us)
            *since_us = samples[i].time_us;
    return result;
}

static void add_old_utilization(struct nvml_processes_found *found, nvml_device device, uint64_t *since_us)
{
    static struct nvml_process_sample *samples;
    static size_t room;
    uint32_t count = 0;
    uint64_t newest_us = *since_us;
    int result = NVML_UNKNOWN;

    for (int i = 0; needs_call(i, result, &samples, &room, count, sizeof *samples); i++) {
        count = (uint32_t)room;
        result = NVML(nvmlDeviceGetProcessUtilization, device, samples, &count, *since_us);
    }
    for (uint32_t i = 0; result == NVML_SUCCESS && i < count && i < room; i++) {
        struct gpu_process *process = nvml_processes_find(found, samples[i].pid);
        if (process) {
            process->sm = (int32_t)samples[i].sm;
            process->memory = (int32_t)samples[i].memory;
            process->encoder = (int32_t)samples[i].encoder;
            process->decoder = (int32_t)samples[i].decoder;
        }
        if (samples[i].time_us > newest_us)
            newest_us = samples[i].time_us;
    }
    *since_us = newest_us;
}

void nvml_processes_tell(const struct nvml_gpu *gpu, uint64_t *since_us)
{
    static struct nvml_processes_found found;
    struct nvml_instance instances[NVML_INSTANCES_MOST];
    uint32_t count = nvml_instances_find(gpu, instances);

    found.count = 0;
    add_lists(&found, &(struct nvml_instance){ gpu->handle, GPU_ALL, GPU_ALL });
    for (uint32_t i = 0; i < count; i++)
        add_lists(&found, &instances[i]);
    if (add_utilization(&found, gpu->handle, since_us))
        add_old_utilization(&found, gpu->handle, since_us);
    for (size_t i = 0; i < found.count; i++) {
        found.processes[i].device = gpu->facts.device;
        frames_add(GPU_FRAME_PROCESS, &found.processes[i], sizeof found.processes[i]);
    }
}
