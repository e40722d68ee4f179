/* How GPUs reach each other and their CPUs: for `tacho topo`. It tells all of it once and ends. */
#include <string.h>
#include <strings.h>

#include "gpu/frames/frames_out.h"
#include "gpu/nvml/nvml_devices.h"
#include "gpu/nvml/nvml_library.h"
#include "gpu_mode.h"

static void tell_driver(void)
{
    struct gpu_driver driver = { "" };

    NVML(nvmlSystemGetDriverVersion, driver.version, sizeof driver.version);
    frames_add(GPU_FRAME_DRIVER, &driver, sizeof driver);
}

_Static_assert(sizeof(unsigned long) == sizeof(uint64_t), "NVML's sets are of unsigned long");

/* Drivers before 450 have no scope; theirs is the node. */
static void mode_topology_tell_place(const struct nvml_gpu *gpu)
{
    struct gpu_place place = { .device = gpu->facts.device, .numa_node = -1 };
    unsigned long *cpus = (unsigned long *)place.cpus, *nodes = (unsigned long *)place.memory_nodes;
    uint32_t node = 0;

    if (NVML(nvmlDeviceGetCpuAffinityWithinScope, gpu->handle, GPU_PLACE_CPUS / 64, cpus, NVML_AFFINITY_NODE) &&
        NVML(nvmlDeviceGetCpuAffinity, gpu->handle, GPU_PLACE_CPUS / 64, cpus))
        memset(place.cpus, 0, sizeof place.cpus);
    if (NVML(nvmlDeviceGetMemoryAffinity, gpu->handle, GPU_PLACE_NODES / 64, nodes, NVML_AFFINITY_NODE))
        memset(place.memory_nodes, 0, sizeof place.memory_nodes);
    if (NVML(nvmlDeviceGetNumaNodeId, gpu->handle, &node) == NVML_SUCCESS)
        place.numa_node = (int32_t)node;
    frames_add(GPU_FRAME_PLACE, &place, sizeof place);
}

/* The far ends of a GPU's active links. */
struct links {
    uint32_t to_switches;
    uint32_t count; /* with an address */
    char bus_ids[NVML_NVLINKS_MOST][32];
};

/* In a virtual machine switches are hidden, and the far end is of no known type: it is a switch if it is no GPU. */
static void mode_topology_find_links(const struct nvml_gpu *gpu, struct links *links)
{
    memset(links, 0, sizeof *links);
    for (uint32_t link = 0; link < NVML_NVLINKS_MOST; link++) {
        uint32_t is_active = 0, type = NVML_NVLINK_TO_GPU;
        struct nvml_pci pci = { 0 };
        if (NVML(nvmlDeviceGetNvLinkState, gpu->handle, link, &is_active) || !is_active)
            continue;
        int is_typed = NVML(nvmlDeviceGetNvLinkRemoteDeviceType, gpu->handle, link, &type) == NVML_SUCCESS;
        if (is_typed && type == NVML_NVLINK_TO_NPU)
            continue;
        if (is_typed && type != NVML_NVLINK_TO_GPU)
            links->to_switches++;
        else if (NVML(nvmlDeviceGetNvLinkRemotePciInfo_v2, gpu->handle, link, &pci) == NVML_SUCCESS)
            memcpy(links->bus_ids[links->count++], pci.bus_id, sizeof pci.bus_id);
    }
}

/* Links between two GPUs. Through switches, a GPU reaches each other one with all its links, as soon as the switches
 * have been set up: before that, NVML says that they are no peers by NVLink. */
static uint32_t count_nvlinks(const struct links *from, const struct links *to, const struct nvml_gpu *far,
                              const struct gpu_pair *pair)
{
    uint32_t direct = 0;

    for (uint32_t i = 0; i < from->count; i++)
        direct += strncasecmp(from->bus_ids[i], far->facts.bus_id, sizeof from->bus_ids[i]) == 0;
    if (direct || pair->peer[GPU_PEER_NVLINK] != NVML_PEER_OK)
        return direct;
    return from->to_switches < to->to_switches ? from->to_switches : to->to_switches;
}

static void tell_pairs(const struct nvml_gpus *gpus)
{
    static struct links links[NVML_DEVICES_MOST];

    for (uint32_t i = 0; i < gpus->count; i++)
        mode_topology_find_links(&gpus->gpus[i], &links[i]);
    for (uint32_t i = 0; i < gpus->count; i++)
        for (uint32_t k = 0; k < gpus->count; k++) {
            const struct nvml_gpu *near = &gpus->gpus[i], *far = &gpus->gpus[k];
            struct gpu_pair pair = { .from = near->facts.device, .to = far->facts.device, .level = GPU_ALL };
            if (i == k)
                continue;
            if (NVML(nvmlDeviceGetTopologyCommonAncestor, near->handle, far->handle, &pair.level))
                pair.level = GPU_ALL;
            for (uint32_t way = 0; way < GPU_PEER_WAYS; way++)
                if (NVML(nvmlDeviceGetP2PStatus, near->handle, far->handle, way, &pair.peer[way]))
                    pair.peer[way] = NVML_PEER_UNKNOWN;
            pair.nvlinks = count_nvlinks(&links[i], &links[k], far, &pair);
            frames_add(GPU_FRAME_PAIR, &pair, sizeof pair);
        }
}

int gpu_mode_topology(char **options)
{
    static struct nvml_gpus gpus;
    struct refusal why;

    (void)options;
    if (nvml_load(&why) || nvml_devices_find(&gpus, NULL, &why)) {
        frames_refuse(GPU_ORIGIN_NVML, GPU_ALL, &why);
        return GPU_MODE_REFUSED;
    }
    tell_driver();
    nvml_devices_tell(&gpus);
    for (uint32_t i = 0; i < gpus.count; i++)
        mode_topology_tell_place(&gpus.gpus[i]);
    tell_pairs(&gpus);
    NVML(nvmlShutdown);
    return 0;
}
