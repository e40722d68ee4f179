/* Memory and kinds come from the lists of running processes, utilisation from NVML's samples of the time since the last
 * call. A process may be in several lists, and in the samples after it has ended: those are left out. With MIG, the
 * list of the whole GPU is for root alone, those of the instances for their users. */
#include "nvml_processes.h"

#include "gpu/frames/frames_out.h"
#include "nvml_instances.h"
#include "nvml_library.h"

enum { MOST = 512 };

struct found {
    uint32_t count;
    struct gpu_process processes[MOST];
};

static struct gpu_process *find(struct found *found, uint32_t pid)
{
    for (uint32_t i = 0; i < found->count; i++)
        if (found->processes[i].pid == pid)
            return &found->processes[i];
    return NULL;
}

static void add_running(struct found *found, const struct nvml_process *running, enum gpu_process_type type)
{
    struct gpu_process *process = find(found, running->pid);

    if (!process) {
        if (found->count == MOST)
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

/* Lists of an instance need not name it. */
static void add_list(struct found *found, const struct nvml_instance *of, list_call *call, enum gpu_process_type type)
{
    struct nvml_process running[MOST];
    uint32_t count = MOST;

    if (!call || call(of->handle, &count, running))
        return;
    for (uint32_t i = 0; i < count && i < MOST; i++) {
        if (running[i].gpu_instance == GPU_ALL) {
            running[i].gpu_instance = of->gpu_instance;
            running[i].compute_instance = of->compute_instance;
        }
        add_running(found, &running[i], type);
    }
}

static void add_lists(struct found *found, const struct nvml_instance *of)
{
    add_list(found, of, nvml.nvmlDeviceGetComputeRunningProcesses_v3, GPU_PROCESS_COMPUTE);
    add_list(found, of, nvml.nvmlDeviceGetGraphicsRunningProcesses_v3, GPU_PROCESS_GRAPHICS);
    add_list(found, of, nvml.nvmlDeviceGetMPSComputeRunningProcesses_v3, GPU_PROCESS_MPS);
}

/* Drivers from 550: with JPEG and optical flow. 0: done. */
static int add_utilization(struct found *found, nvml_device device, uint64_t *since_us)
{
    struct nvml_process_info samples[MOST];
    struct nvml_processes_info info = { NVML_PROCESSES_INFO_V1, MOST, *since_us, samples };
    int result = NVML(nvmlDeviceGetProcessesUtilizationInfo, device, &info);

    for (uint32_t i = 0; result == NVML_SUCCESS && i < info.count && i < MOST; i++) {
        const struct nvml_process_info *sample = &samples[i];
        struct gpu_process *process = find(found, sample->pid);
        if (process && sample->time_us > *since_us) {
            process->sm = (int32_t)sample->sm;
            process->memory = (int32_t)sample->memory;
            process->encoder = (int32_t)sample->encoder;
            process->decoder = (int32_t)sample->decoder;
            process->jpeg = (int32_t)sample->jpeg;
            process->ofa = (int32_t)sample->ofa;
        }
    }
    for (uint32_t i = 0; result == NVML_SUCCESS && i < info.count && i < MOST; i++)
        if (samples[i].time_us > *since_us)
            *since_us = samples[i].time_us;
    return result;
}

static void add_old_utilization(struct found *found, nvml_device device, uint64_t *since_us)
{
    struct nvml_process_sample samples[MOST];
    uint32_t count = MOST;
    uint64_t newest_us = *since_us;

    if (NVML(nvmlDeviceGetProcessUtilization, device, samples, &count, *since_us))
        return;
    for (uint32_t i = 0; i < count && i < MOST; i++) {
        struct gpu_process *process = find(found, samples[i].pid);
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
    static struct found found;
    struct nvml_instance instances[NVML_INSTANCES_MOST];
    uint32_t count = nvml_instances_find(gpu, instances);

    found.count = 0;
    add_lists(&found, &(struct nvml_instance){ gpu->handle, GPU_ALL, GPU_ALL });
    for (uint32_t i = 0; i < count; i++)
        add_lists(&found, &instances[i]);
    if (add_utilization(&found, gpu->handle, since_us))
        add_old_utilization(&found, gpu->handle, since_us);
    for (uint32_t i = 0; i < found.count; i++) {
        found.processes[i].device = gpu->facts.device;
        frames_add(GPU_FRAME_PROCESS, &found.processes[i], sizeof found.processes[i]);
    }
}
