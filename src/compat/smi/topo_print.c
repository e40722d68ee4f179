/* nvidia-smi underlines the heads of its tables even in a pipe, and so does this. The texts are those of drivers from
 * 535, which have the column GPU NUMA ID. */
#include "topo_print.h"

#include <stdlib.h>
#include <string.h>

#include "abi/nvml.h"
#include "base/json_write.h"

#define UNDERLINED "\033[4m"
#define PLAIN      "\033[0m"
#define NOT_KNOWN  "N/A"

static void add_relation(struct text *out, const struct topology *topology, size_t from, size_t to, int with_nvlinks)
{
    if (with_nvlinks && from < topology->gpus && to < topology->gpus && topology->pair[from][to].nvlinks)
        text_addf(out, "NV%u", topology->pair[from][to].nvlinks);
    else
        text_add(out, topology_word(topology_level(topology, from, to)));
}

static void add_cpus(struct text *out, const struct topology_node *gpu)
{
    topology_add_set(out, gpu->place.cpus, GPU_PLACE_CPUS);
}

static void add_memory_nodes(struct text *out, const struct topology_node *gpu)
{
    topology_add_set(out, gpu->place.memory_nodes, GPU_PLACE_NODES);
}

static void topo_print_add_number(struct text *out, int number)
{
    if (number < 0)
        text_add(out, NOT_KNOWN);
    else
        text_addf(out, "%d", number);
}

static void add_matrix_row(struct text *out, const struct topology *topology, size_t row, int with_nvlinks)
{
    const struct topology_node *node = &topology->node[row];

    text_addf(out, "%s\t", node->label);
    for (size_t i = 0; i < topology->nodes; i++) {
        if (i == row)
            text_add(out, " X ");
        else
            add_relation(out, topology, row, i, with_nvlinks);
        text_add_char(out, '\t');
    }
    if (row >= topology->gpus) {
        text_add(out, "\t\t\t\n");
        return;
    }
    add_cpus(out, node);
    text_add_char(out, '\t');
    add_memory_nodes(out, node);
    text_add(out, "\t\t");
    topo_print_add_number(out, node->place.numa_node);
    text_add_char(out, '\n');
}

void topo_add_matrix(struct text *out, const struct topology *topology, int with_nvlinks)
{
    text_add(out, "\t" UNDERLINED);
    for (size_t i = 0; i < topology->nodes; i++)
        text_addf(out, "%s\t", topology->node[i].label);
    text_add(out, "CPU Affinity\tNUMA Affinity\tGPU NUMA ID" PLAIN "\n");
    for (size_t i = 0; i < topology->nodes; i++)
        add_matrix_row(out, topology, i, with_nvlinks);
    text_add(out,
             "\nLegend:\n\n"
             "  X    = Self\n"
             "  SYS  = Connection traversing PCIe as well as the SMP interconnect between NUMA nodes (e.g., QPI/UPI)\n"
             "  NODE = Connection traversing PCIe as well as the interconnect between PCIe Host Bridges within a NUMA "
             "node\n"
             "  PHB  = Connection traversing PCIe as well as a PCIe Host Bridge (typically the CPU)\n"
             "  PXB  = Connection traversing multiple PCIe bridges (without traversing the PCIe Host Bridge)\n"
             "  PIX  = Connection traversing at most a single PCIe bridge\n");
    if (with_nvlinks)
        text_add(out, "  NV#  = Connection traversing a bonded set of # NVLinks\n");
    if (topology->nodes == topology->gpus)
        return;
    text_add(out, "\nNIC Legend:\n\n");
    for (size_t i = topology->gpus; i < topology->nodes; i++)
        text_addf(out, "  %s: %s\n", topology->node[i].label, topology->node[i].name);
    text_add_char(out, '\n');
}

/* ---- Peers ----------------------------------------------------------------------------------------------------- */

static const struct {
    char letter;
    const char *name; /* in JSON */
} ways[GPU_PEER_WAYS] = {
    [GPU_PEER_READ] = { 'r', "read" },       [GPU_PEER_WRITE] = { 'w', "write" }, [GPU_PEER_NVLINK] = { 'n', "nvlink" },
    [GPU_PEER_ATOMICS] = { 'a', "atomics" }, [GPU_PEER_PCI] = { 'p', "pci" },
};

static const struct {
    const char *word, *meaning;
    int first_driver; /* the first driver whose legend has it */
} statuses[] = {
    [NVML_PEER_OK] = { "OK", "Status Ok", 0 },
    [NVML_PEER_CHIPSET_NOT_SUPPORTED] = { "CNS", "Chipset not supported", 0 },
    [NVML_PEER_GPU_NOT_SUPPORTED] = { "GNS", "GPU not supported", 0 },
    [NVML_PEER_TOPOLOGY_NOT_SUPPORTED] = { "TNS", "Topology not supported", 0 },
    [NVML_PEER_DISABLED_BY_REGKEY] = { "DR", "Disabled by regkey", 600 },
    [NVML_PEER_NOT_SUPPORTED] = { "NS", "Not supported", 0 },
    [NVML_PEER_UNKNOWN] = { "U", "Unknown", 0 },
};
static const uint32_t legend[] = {
    NVML_PEER_OK,
    NVML_PEER_CHIPSET_NOT_SUPPORTED,
    NVML_PEER_GPU_NOT_SUPPORTED,
    NVML_PEER_TOPOLOGY_NOT_SUPPORTED,
    NVML_PEER_NOT_SUPPORTED,
    NVML_PEER_DISABLED_BY_REGKEY,
    NVML_PEER_UNKNOWN,
};

int topo_is_way(char letter)
{
    for (size_t i = 0; i < GPU_PEER_WAYS; i++)
        if (ways[i].letter == letter)
            return 1;
    return 0;
}

static const char *status_word(uint32_t status)
{
    return statuses[status <= NVML_PEER_UNKNOWN ? status : NVML_PEER_UNKNOWN].word;
}

/* The first of the ways that is not OK. */
static uint32_t status_of_pair(const struct gpu_pair *pair, const char *letters)
{
    for (size_t i = 0; i < GPU_PEER_WAYS; i++)
        if (strchr(letters, ways[i].letter) && pair->peer[i] != NVML_PEER_OK)
            return pair->peer[i];
    return NVML_PEER_OK;
}

void topo_add_peers(struct text *out, const struct topology *topology, const char *letters)
{
    text_add(out, " \t" UNDERLINED);
    for (size_t i = 0; i < topology->gpus; i++)
        text_addf(out, "%s\t", topology->node[i].label);
    text_add(out, PLAIN "\n");
    for (size_t i = 0; i < topology->gpus; i++) {
        text_addf(out, " %s\t", topology->node[i].label);
        for (size_t k = 0; k < topology->gpus; k++)
            text_addf(out, "%s\t", i == k ? "X" : status_word(status_of_pair(&topology->pair[i][k], letters)));
        text_add_char(out, '\n');
    }
    text_add(out, "\nLegend:\n\n  X    = Self\n");
    for (size_t i = 0; i < COUNT_OF(legend); i++)
        if (atoi(topology->driver) >= statuses[legend[i]].first_driver)
            text_addf(out, "  %-4s = %s\n", statuses[legend[i]].word, statuses[legend[i]].meaning);
}

/* ---- Sentences ------------------------------------------------------------------------------------------------- */

/* nvidia-smi's own words differ between a path that is there and one that is not. */
static const struct {
    uint32_t level;
    const char *words, *absent;
} paths[TOPO_PATHS] = {
    { NVML_TOPOLOGY_INTERNAL, "a single PCIe switch on a dual GPU board", "by way of an single on-board PCIe switch" },
    { NVML_TOPOLOGY_SINGLE, "a single PCIe switch", "by way of a single PCIe switch" },
    { NVML_TOPOLOGY_MULTIPLE, "multiple PCIe switches", "by way of potentially multiple PCIe switches" },
    { NVML_TOPOLOGY_HOSTBRIDGE, "a PCIe host bridge", "by the same PCIe host bridge" },
    { NVML_TOPOLOGY_NODE, "an on-CPU interconnect link between PCIe host bridges",
      "by way of an on-CPU interconnect between PCIe host bridges" },
    { NVML_TOPOLOGY_SYSTEM, "an SMP interconnect link between NUMA nodes",
      "by way of an SMP interconnect link between NUMA nodes" },
};

void topo_add_of_cpu(struct text *out, const struct topology *topology, size_t cpu)
{
    const char *before = "";

    text_addf(out, "The GPUs that have an affinity with CPU %zu are:\n", cpu);
    for (size_t i = 0; i < topology->gpus; i++)
        if (cpu < GPU_PLACE_CPUS && topology->node[i].place.cpus[cpu / 64] >> cpu % 64 & 1) {
            text_addf(out, "%s%u", before, topology->node[i].device.device);
            before = ", ";
        }
    text_add(out, "\n\n");
}

void topo_add_path(struct text *out, const struct topology *topology, size_t from, size_t to)
{
    uint32_t level = topology_level(topology, from, to);
    size_t i = 0;

    while (i + 1 < TOPO_PATHS && paths[i].level < level)
        i++;
    text_addf(out, "Device %u is connected to device %u by way of %s.\n", topology->node[from].device.device,
              topology->node[to].device.device, paths[i].words);
}

void topo_add_nearest(struct text *out, const struct topology *topology, size_t from, size_t path)
{
    uint32_t number = topology->node[from].device.device;
    struct text reached = { 0 };

    for (size_t i = 0; i < topology->gpus; i++)
        if (i != from && topology_level(topology, from, i) == paths[path].level)
            text_addf(&reached, reached.length ? ", %u" : "%u", topology->node[i].device.device);
    if (reached.length)
        text_addf(out, "Device %u is connected by way of %s to device(s): %s\n\n", number, paths[path].words,
                  text_string(&reached));
    else
        text_addf(out, "Device %u is not connected to other devices %s.\n\n", number, paths[path].absent);
    text_free(&reached);
}

static void add_closest(struct text *out, const char *what, const struct topology_node *gpu)
{
    text_addf(out, "NUMA IDs of closest %s: ", what);
    size_t start = out->length;
    add_memory_nodes(out, gpu);
    text_add(out, out->length > start ? "\n" : NOT_KNOWN "\n");
}

/* The node of the slot in sysfs is -1 on a host of one node, where nvidia-smi has 0; and on Grace it has all nodes of
 * the memory affinity here. */
void topo_add_closest_cpu(struct text *out, const struct topology_node *gpu)
{
    add_closest(out, "CPU", gpu);
}

void topo_add_closest_memory(struct text *out, const struct topology_node *gpu)
{
    add_closest(out, "memory", gpu);
}

void topo_add_own_node(struct text *out, const struct topology_node *gpu)
{
    topo_print_add_number(out, gpu->place.numa_node);
    text_add_char(out, '\n');
}

/* ---- JSON ------------------------------------------------------------------------------------------------------ */

static void add_json_node(struct text *out, const struct topology *topology, size_t i)
{
    const struct topology_node *node = &topology->node[i];
    struct text set = { 0 };

    json_addf(out, "\n  {'label':%s,'name':%s,'pci_path':%s", node->label, node->name, node->slot.path);
    json_addf(out, node->slot.numa_node < 0 ? "'numa_node':null" : "'numa_node':%d", node->slot.numa_node);
    if (i < topology->gpus) {
        add_cpus(&set, node);
        json_addf(out, "'uuid':%s,'bus_id':%s,'cpu_affinity':%s", node->device.uuid, node->device.bus_id,
                  text_string(&set));
        text_clear(&set);
        add_memory_nodes(&set, node);
        json_addf(out, "'numa_affinity':%s", text_string(&set));
        json_addf(out, node->place.numa_node < 0 ? "'gpu_numa_id':null" : "'gpu_numa_id':%d", node->place.numa_node);
        text_free(&set);
    }
    text_add_char(out, '}');
}

static void add_json_link(struct text *out, const struct topology *topology, size_t from, size_t to)
{
    const struct gpu_pair *pair = from < topology->gpus && to < topology->gpus ? &topology->pair[from][to] : NULL;

    json_addf(out, "\n  {'from':%s,'to':%s,'connection':'", topology->node[from].label, topology->node[to].label);
    add_relation(out, topology, from, to, 1);
    text_add_char(out, '"');
    json_addf(out, "'pci':%s", topology_word(topology_level(topology, from, to)));
    if (pair) {
        json_addf(out, "'nvlinks':%u,'p2p':{", pair->nvlinks);
        for (size_t i = 0; i < GPU_PEER_WAYS; i++)
            json_addf(out, "%s:%s", ways[i].name, status_word(pair->peer[i]));
        text_add_char(out, '}');
    }
    text_add_char(out, '}');
}

void topo_add_json(struct text *out, const struct topology *topology)
{
    json_addf(out, "{'driver':%s,\n 'nodes':[", topology->driver);
    for (size_t i = 0; i < topology->nodes; i++)
        add_json_node(out, topology, i);
    json_addf(out, "],\n 'links':[");
    for (size_t i = 0; i < topology->nodes; i++)
        for (size_t k = 0; k < topology->nodes; k++)
            if (i != k)
                add_json_link(out, topology, i, k);
    text_add(out, "]}\n");
}
