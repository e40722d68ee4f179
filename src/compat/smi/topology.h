/* How the GPUs and network adapters of this machine reach each other, from NVML and from sysfs. */
#ifndef TACHO_COMPAT_SMI_TOPOLOGY_H
#define TACHO_COMPAT_SMI_TOPOLOGY_H

#include "base/error.h"
#include "base/text.h"
#include "topology_sysfs.h"
#include "wire/wire_gpu.h"

enum { TOPOLOGY_GPUS = 64, TOPOLOGY_ADAPTERS = 128, TOPOLOGY_NODES = TOPOLOGY_GPUS + TOPOLOGY_ADAPTERS };

/* GPUs first, in the order of NVML, then adapters (RDMA devices) in the order of the kernel. */
struct topology_node {
    char label[32];           /* GPU0, NIC3 */
    char name[96];            /* mlx5_0, NVIDIA H200 */
    struct topology_slot slot;
    struct gpu_device device; /* GPUs only */
    struct gpu_place place;
};

struct topology {
    char driver[64];
    size_t gpus, nodes;
    struct topology_node node[TOPOLOGY_NODES];
    struct gpu_pair pair[TOPOLOGY_GPUS][TOPOLOGY_GPUS]; /* by place among the nodes */
};

/* Asks tacho-gpu and sysfs. The caller frees *out, also after a failure. */
int topology_read(struct topology **out, struct error *err);

/* The PCI level between two nodes: enum nvml_topology_level. */
uint32_t topology_level(const struct topology *topology, size_t from, size_t to);

/* The same as nvidia-smi has it: "SYS", "NODE", "PHB", "PXB", "PIX". */
const char *topology_word(uint32_t level);

/* Adds a set of bits as ranges: "0-55,112-167". */
void topology_add_set(struct text *out, const uint64_t *set, size_t bits);

#endif
