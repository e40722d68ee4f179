/* tacho topo: the output of `nvidia-smi topo`, with its options. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/command.h"
#include "topo_print.h"
#include "wire/gpu_device_name.h"

struct topo_settings {
    int matrix, matrix_pci, gpu_path, closest_cpu, closest_memory, own_node, json;
    const char *ids, *cpu, *nearest, *peers;
};

#define FIELD(name) offsetof(struct topo_settings, name)
/* clang-format off */
static const struct option topo_options[] = {
    { .name = "matrix", .letter = 'm', .kind = OPTION_FLAG, .offset = FIELD(matrix),
      .help = "Print how GPUs and network adapters are connected, and the CPUs and NUMA nodes next to each GPU "
              "(default)." },
    { .name = "matrix_pci", .kind = OPTION_FLAG, .offset = FIELD(matrix_pci),
      .help = "The same without NVLink; also -mp." },
    { .name = "p2pstatus", .kind = OPTION_TEXT, .offset = FIELD(peers), .value = "WAYS",
      .help = "Print which GPUs can access each other: r (read), w (write), n (NVLink), a (atomics), p (PCIe), or "
              "several of them; also -p2p." },
    { .name = "id", .letter = 'i', .kind = OPTION_TEXT, .offset = FIELD(ids), .value = "LIST",
      .help = "GPUs for -n, -p, -C, -M and -gnid: number, UUID or PCI bus id, separated by commas." },
    { .name = "cpu", .letter = 'c', .kind = OPTION_TEXT, .offset = FIELD(cpu), .value = "N",
      .help = "Print the GPUs next to CPU N." },
    { .name = "nearest_gpus", .letter = 'n', .kind = OPTION_TEXT, .offset = FIELD(nearest), .value = "PATH",
      .help = "Print the GPUs that GPU -i reaches over PATH: 0 (a PCIe switch on the same board), 1 (a PCIe switch), 2 "
              "(several PCIe switches), 3 (a PCIe host bridge), 4 (a NUMA node) or 5 (a link between NUMA nodes)." },
    { .name = "gpu_path", .letter = 'p', .kind = OPTION_FLAG, .offset = FIELD(gpu_path),
      .help = "Print the path between the two GPUs of -i." },
    { .name = "get-numa-id-of-nearby-cpu", .letter = 'C', .kind = OPTION_FLAG, .offset = FIELD(closest_cpu),
      .help = "Print the NUMA nodes of the CPUs next to GPU -i." },
    { .name = "get-numa-id-of-nearby-mem", .letter = 'M', .kind = OPTION_FLAG, .offset = FIELD(closest_memory),
      .help = "Print the NUMA nodes of the memory next to GPU -i." },
    { .name = "gpu-numa-id", .kind = OPTION_FLAG, .offset = FIELD(own_node),
      .help = "Print the NUMA node that GPU -i is itself (N/A: none); also -gnid." },
    { .name = "json", .kind = OPTION_FLAG, .offset = FIELD(json),
      .help = "Print everything as JSON: GPUs and adapters, and the connections of each pair." },
    { 0 },
};
/* clang-format on */

/* Options of nvidia-smi that have one dash and several letters. */
static const struct {
    const char *typed, *name;
} spellings[] = {
    { "-mp", "--matrix_pci" },
    { "-p2p", "--p2pstatus" },
    { "-gnid", "--gpu-numa-id" },
};

/* Those that tacho topo does not have: -n and -c would take the rest of the word as their value. */
static const char *const unsupported[] = { "-nvme", "-nic", "-cpu" };

static int check_words(int argc, char **argv, struct error *err)
{
    for (int i = 1; i < argc; i++)
        for (size_t k = 0; k < COUNT_OF(unsupported); k++)
            if (strcmp(argv[i], unsupported[k]) == 0)
                return error_set(err, ERR_BAD_ARGUMENT, "%s is not supported", argv[i]);
    return 0;
}

static char *spelling(char *word)
{
    for (size_t i = 0; i < COUNT_OF(spellings); i++)
        if (strcmp(word, spellings[i].typed) == 0)
            return (char *)spellings[i].name;
    return word;
}

/* The GPUs of -i, by their place among the nodes. */
struct topo_chosen {
    size_t count, place[2];
};

static int topo_choose(const struct topology *topology, const char *list, struct topo_chosen *chosen, struct error *err)
{
    for (const char *word = list; *word; word += strcspn(word, ","), word += *word == ',') {
        size_t length = strcspn(word, ","), place = 0;
        while (place < topology->gpus && !gpu_device_is_called(&topology->node[place].device, word, length))
            place++;
        if (place == topology->gpus) {
            char numbers[32];
            gpu_device_numbers(topology->gpus, numbers, sizeof numbers);
            return error_set(err, ERR_NOT_FOUND, "there is no GPU '%.*s' here, only %s; nvidia-smi -L lists them",
                             (int)length, word, numbers);
        }
        if (chosen->count < 2)
            chosen->place[chosen->count] = place;
        chosen->count++;
    }
    return 0;
}

static int topo_check(const struct topo_settings *settings, struct error *err)
{
    int of_gpus = settings->closest_cpu || settings->closest_memory || settings->own_node;

    for (const char *way = settings->peers ? settings->peers : "r"; *way; way++)
        if (!topo_is_way(*way))
            return error_set(err, ERR_BAD_ARGUMENT, "-p2p needs letters of r, w, n, a and p, not '%s'",
                             settings->peers);
    if (settings->ids && !(settings->nearest || settings->gpu_path || of_gpus))
        return error_set(err, ERR_BAD_ARGUMENT, "-i needs -n, -p, -C, -M or -gnid: the matrices have all GPUs");
    if (!settings->ids && (settings->nearest || settings->gpu_path || of_gpus))
        return error_set(err, ERR_BAD_ARGUMENT, "-n, -p, -C, -M and -gnid need -i, the GPU");
    return 0;
}

static int topo_number_of(const char *text, const char *option, size_t below, size_t *out, struct error *err)
{
    uint64_t number;
    int failed = option_read_number(text, 0, below - 1, &number);

    *out = (size_t)number;
    if (!failed)
        return 0;
    return error_set(err, ERR_BAD_ARGUMENT, "%s needs a number below %zu, not '%s'", option, below, text);
}

static int add_of_gpus(struct text *out, const struct topology *topology, const struct topo_settings *settings,
                       struct error *err)
{
    struct topo_chosen chosen = { 0 };
    size_t path = 0;

    if (settings->nearest && topo_number_of(settings->nearest, "-n", TOPO_PATHS, &path, err))
        return err->code;
    if (topo_choose(topology, settings->ids, &chosen, err))
        return err->code;
    if (chosen.count != (settings->gpu_path ? 2u : 1u))
        return error_set(err, ERR_BAD_ARGUMENT, "-i needs %s here", settings->gpu_path ? "two GPUs" : "one GPU");
    const struct topology_node *gpu = &topology->node[chosen.place[0]];
    if (settings->gpu_path)
        topo_add_path(out, topology, chosen.place[0], chosen.place[1]);
    if (settings->nearest)
        topo_add_nearest(out, topology, chosen.place[0], path);
    if (settings->closest_cpu)
        topo_add_closest_cpu(out, gpu);
    if (settings->closest_memory)
        topo_add_closest_memory(out, gpu);
    if (settings->own_node)
        topo_add_own_node(out, gpu);
    return 0;
}

static int topo_add_answer(struct text *out, const struct topology *topology, const struct topo_settings *settings,
                           struct error *err)
{
    size_t cpu;

    if (settings->json) {
        topo_add_json(out, topology);
        return 0;
    }
    if (settings->ids)
        return add_of_gpus(out, topology, settings, err);
    if (settings->cpu && topo_number_of(settings->cpu, "-c", GPU_PLACE_CPUS, &cpu, err))
        return err->code;
    if (settings->cpu)
        topo_add_of_cpu(out, topology, cpu);
    else if (settings->peers)
        topo_add_peers(out, topology, settings->peers);
    else
        topo_add_matrix(out, topology, !settings->matrix_pci);
    return 0;
}

static int topo_answer(const struct command *self, const struct topo_settings *settings)
{
    struct topology *topology = NULL;
    struct text out = { 0 };
    struct error err = { 0 };
    int is_refused = topo_check(settings, &err) || topology_read(&topology, &err) ||
                     topo_add_answer(&out, topology, settings, &err);
    int status = is_refused ? command_fail(self, &err) : command_write(self, &out);

    text_free(&out);
    free(topology);
    return status;
}

static int topo_run(const struct command *self, int argc, char **argv)
{
    struct topo_settings settings = { 0 };
    const char *operands[argc];
    size_t operand_count = 0;
    struct error err = { 0 };
    int status;

    if (check_words(argc, argv, &err) != 0)
        return command_fail(self, &err);
    for (int i = 1; i < argc; i++)
        argv[i] = spelling(argv[i]);
    if (!command_options(self, argc, argv, &settings, operands, &operand_count, &status))
        return status;
    if (!operand_count)
        return topo_answer(self, &settings);
    error_set(&err, ERR_BAD_ARGUMENT, "takes no file or other argument, not '%s'", operands[0]);
    return command_fail(self, &err);
}

static const struct entry topo_examples[] = {
    { "tacho topo -m", "Print the connections of GPUs and network adapters." },
    { "tacho topo --p2pstatus r", "Print which GPUs can read each other's memory." },
    { 0 },
};

const struct command command_topo = {
    .name = "topo",
    .arguments = "",
    .summary = "Show how GPUs, network adapters and CPUs are connected",
    .about = "Print what nvidia-smi topo prints, from NVML and sysfs, or all of it as JSON.",
    .examples = topo_examples,
    .options = topo_options,
    .variables = COMMAND_GPU_VARIABLES ",TACHO_SYSFS",
    .run = topo_run,
};
