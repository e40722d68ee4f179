/* NVML knows the GPUs, the kernel knows the adapters: sysfs has both at their places in the tree of PCI. */
#include "topology.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "abi/nvml.h"
#include "collect/gpu/gpu_ask.h"
#include "collect/gpu/gpu_link.h"

static struct topology_node *topology_find_gpu(struct topology *topology, uint32_t device)
{
    for (size_t i = 0; i < topology->gpus; i++)
        if (topology->node[i].device.device == device)
            return &topology->node[i];
    return NULL;
}

static void topology_add_gpu(struct topology *topology, const struct gpu_device *device)
{
    if (topology->gpus == TOPOLOGY_GPUS)
        return;
    struct topology_node *node = &topology->node[topology->gpus++];
    node->device = *device;
    node->place.numa_node = -1;
    snprintf(node->label, sizeof node->label, "GPU%u", device->device);
    snprintf(node->name, sizeof node->name, "%.95s", device->name);
    topology_sysfs_slot(node->device.bus_id, &node->slot);
}

static void topology_add_pair(struct topology *topology, const struct gpu_pair *pair)
{
    const struct topology_node *from = topology_find_gpu(topology, pair->from),
                               *to = topology_find_gpu(topology, pair->to);

    if (from && to)
        topology->pair[from - topology->node][to - topology->node] = *pair;
}

/* Copies a frame of that type: 1. */
static int is_frame(const struct gpu_frame *frame, const void *payload, enum gpu_frame_type type, void *out,
                    size_t size)
{
    if (frame->type != (uint32_t)type || frame->bytes < size)
        return 0;
    memcpy(out, payload, size);
    return 1;
}

struct topology_answer {
    struct topology *topology;
    char refusal[GPU_MESSAGE_BYTES]; /* the refusal of all GPUs; "": none */
};

static void topology_take(void *context, const struct gpu_frame *frame, const void *payload)
{
    struct topology_answer *answer = context;
    struct topology *topology = answer->topology;
    const struct gpu_refusal *refusal;
    struct gpu_driver driver;
    struct gpu_device device;
    struct gpu_place place;
    struct gpu_pair pair;

    if (is_frame(frame, payload, GPU_FRAME_DRIVER, &driver, sizeof driver))
        snprintf(topology->driver, sizeof topology->driver, "%.63s", driver.version);
    if (is_frame(frame, payload, GPU_FRAME_DEVICE, &device, sizeof device))
        topology_add_gpu(topology, &device);
    if (is_frame(frame, payload, GPU_FRAME_PLACE, &place, sizeof place) && topology_find_gpu(topology, place.device))
        topology_find_gpu(topology, place.device)->place = place;
    if (is_frame(frame, payload, GPU_FRAME_PAIR, &pair, sizeof pair))
        topology_add_pair(topology, &pair);
    const char *sentence = frame->type == GPU_FRAME_REFUSAL ? gpu_frame_refusal(frame, payload, &refusal) : NULL;
    if (sentence && refusal->device == GPU_ALL && !*answer->refusal)
        gpu_message(answer->refusal, sentence);
}

/* A GPU that cannot be read is refused by its number, and the others are shown; a refusal of all is the error. */
static int ask_helper(struct topology *topology, struct error *err)
{
    const char *const none[] = { NULL };
    const struct gpu_question question = { .mode = "topology", .options = none };
    struct topology_answer answer = { .topology = topology };
    int code = gpu_ask(&question, topology_take, &answer, err);

    return *answer.refusal ? error_set(err, ERR_NO_DATA, "%s", answer.refusal) : code;
}

static void add_adapters(struct topology *topology)
{
    static struct topology_adapter list[TOPOLOGY_ADAPTERS];
    size_t count = topology_sysfs_adapters(list, TOPOLOGY_ADAPTERS);

    topology->nodes = topology->gpus;
    for (size_t i = 0; i < count; i++) {
        struct topology_node *node = &topology->node[topology->nodes++];
        node->slot = list[i].slot;
        snprintf(node->label, sizeof node->label, "NIC%zu", i);
        snprintf(node->name, sizeof node->name, "%.95s", list[i].name);
    }
}

int topology_read(struct topology **out, struct error *err)
{
    struct topology *topology = *out = calloc(1, sizeof **out);

    if (!topology)
        return error_set(err, ERR_NO_MEMORY, "out of memory for the topology");
    int code = ask_helper(topology, err);
    if (code)
        return code;
    if (!topology->gpus)
        return error_set(err, ERR_NO_DATA, "tacho-gpu ended before it named a GPU");
    add_adapters(topology);
    return 0;
}

/* How far two places of the PCI tree are from each other. A switch is two bridges: devices below one share all but the
 * bridge of their own port and themselves. */
static uint32_t level_of_slots(const struct topology_slot *from, const struct topology_slot *to)
{
    const char *a = from->path, *b = to->path;
    int common = 0, left_a = 1, left_b = 1;

    while (*a && *b && strcspn(a, "/") == strcspn(b, "/") && strncmp(a, b, strcspn(a, "/")) == 0) {
        common++;
        a += strcspn(a, "/") + (a[strcspn(a, "/")] == '/');
        b += strcspn(b, "/") + (b[strcspn(b, "/")] == '/');
    }
    if (common == 0)
        return from->numa_node == to->numa_node ? NVML_TOPOLOGY_NODE : NVML_TOPOLOGY_SYSTEM;
    if (common == 1)
        return NVML_TOPOLOGY_HOSTBRIDGE;
    for (; *a; a++)
        left_a += *a == '/';
    for (; *b; b++)
        left_b += *b == '/';
    return left_a <= 2 && left_b <= 2 ? NVML_TOPOLOGY_SINGLE : NVML_TOPOLOGY_MULTIPLE;
}

uint32_t topology_level(const struct topology *topology, size_t from, size_t to)
{
    if (from < topology->gpus && to < topology->gpus && topology->pair[from][to].level != GPU_ALL)
        return topology->pair[from][to].level;
    return level_of_slots(&topology->node[from].slot, &topology->node[to].slot);
}

const char *topology_word(uint32_t level)
{
    static const struct {
        uint32_t most;
        const char *word;
    } words[] = {
        { NVML_TOPOLOGY_SINGLE, "PIX" },
        { NVML_TOPOLOGY_MULTIPLE, "PXB" },
        { NVML_TOPOLOGY_HOSTBRIDGE, "PHB" },
        { NVML_TOPOLOGY_NODE, "NODE" },
    };

    for (size_t i = 0; i < COUNT_OF(words); i++)
        if (level <= words[i].most)
            return words[i].word;
    return "SYS";
}

void topology_add_set(struct text *out, const uint64_t *set, size_t bits)
{
    size_t start = out->length;

    for (size_t bit = 0; bit < bits; bit++) {
        size_t last = bit;
        if (!(set[bit / 64] >> bit % 64 & 1))
            continue;
        while (last + 1 < bits && set[(last + 1) / 64] >> (last + 1) % 64 & 1)
            last++;
        text_addf(out, out->length > start ? ",%zu" : "%zu", bit);
        if (last > bit)
            text_addf(out, "-%zu", last);
        bit = last;
    }
}
