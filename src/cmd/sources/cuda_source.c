/* CUDA: values of its options, old spellings included, and the flags that the agent gets for them. */
#include <stdlib.h>
#include <string.h>

#include "abi/cuda_calls.h"
#include "abi/cupti_pc_sampling.h"
#include "cmd/cmd_source.h"
#include "cmd/profile/profile_settings.h"
#include "cuda_doctor.h"
#include "cuda_info.h"
#include "cuda_summary.h"
#include "python_source.h"
#include "wire/wire_cuda.h"

struct cuda_settings {
    int memory_usage, cpu_faults, gpu_faults, all_calls, flush_on_stop, yield, graph_nodes, events;
    uint32_t flush_interval_ms;
    uint8_t pc_mode, pc_period; /* as in collect_options */
    int backtrace_given;
    uint32_t backtrace_groups;
    int backtrace_unset;        /* some group has no threshold of its own: backtrace_ns counts for it */
    uint64_t backtrace_ns;      /* --cudabacktrace-threshold */
    uint64_t least_ns, most_ns; /* thresholds that groups have of their own; none: least_ns is above most_ns */
};
static const struct cuda_settings cuda_source_defaults = { .flush_on_stop = 1,
                                                           .backtrace_ns = 80000,
                                                           .least_ns = UINT64_MAX };

enum { LONGEST_FLUSH_MS = 3600000 };
#define LONGEST_BACKTRACE_NS UINT64_C(3600000000000)

static struct cuda_settings *cuda_source_settings(void *settings)
{
    return profile_source_settings(settings, &cmd_source_cuda);
}

static int take_graph_trace(void *context, const char *value, struct error *err)
{
    struct profile_settings *settings = context;
    size_t length = strcspn(value, ":");
    const char *origin = value[length] ? value + length + 1 : "host-only";
    int is_node = length == 4 && strncmp(value, "node", 4) == 0,
        is_graph = length == 5 && strncmp(value, "graph", 5) == 0;

    if ((!is_node && !is_graph) || (strcmp(origin, "host-only") != 0 && strcmp(origin, "host-and-device") != 0))
        return error_set(err, ERR_BAD_ARGUMENT,
                         "--cuda-graph-trace must be graph or node, optionally followed by :host-only or "
                         ":host-and-device, not '%s'",
                         value);
    if (strcmp(origin, "host-and-device") == 0)
        text_add(&settings->warnings, "--cuda-graph-trace=…:host-and-device has the effect of host-only: graphs that "
                                      "the GPU launches itself are not told apart from the kernels in them\n");
    cuda_source_settings(settings)->graph_nodes = is_node;
    return 0;
}

static int take_event_trace(void *settings, const char *value, struct error *err)
{
    int wanted = strcmp(value, "auto") == 0 ? 1 : option_bool(value);

    if (wanted < 0)
        return error_set(err, ERR_BAD_ARGUMENT, "--cuda-event-trace must be auto, true or false, not '%s'", value);
    cuda_source_settings(settings)->events = wanted;
    return 0;
}

static int take_flush_interval(void *settings, const char *value, struct error *err)
{
    uint64_t ms;

    if (option_read_number(value, 0, LONGEST_FLUSH_MS, &ms) != 0)
        return error_set(err, ERR_BAD_ARGUMENT,
                         "--cuda-flush-interval must be a number of milliseconds, at most an hour, not '%s'", value);
    cuda_source_settings(settings)->flush_interval_ms = (uint32_t)ms;
    return 0;
}

static int take_pc_sampling(void *settings, const char *value, struct error *err)
{
    static const char *const modes[] = {
        "none", [CUPTI_PC_CONTINUOUS] = "continuous", [CUPTI_PC_SERIALIZED] = "serialized"
    };

    for (size_t i = 0; i < COUNT_OF(modes); i++)
        if (strcmp(value, modes[i]) == 0) {
            cuda_source_settings(settings)->pc_mode = (uint8_t)i;
            return 0;
        }
    return error_set(err, ERR_BAD_ARGUMENT, "--pc-sampling must be continuous, serialized or none, not '%s'", value);
}

/* 2^N cycles of an SM. CUPTI's own choice on an H200, 2^11, is 130 million samples a second, with which the GPU's
 * buffer is full after 60 ms. Where samples are separated by launch, short kernels should have some too. */
static const uint8_t pc_periods[] = { 0, [CUPTI_PC_CONTINUOUS] = 15, [CUPTI_PC_SERIALIZED] = 13 };

/* ncu's numbers: 0 is a sample every 32 cycles, each further one doubles that. */
static int take_pc_interval(void *settings, const char *value, struct error *err)
{
    uint64_t number = 0;
    int is_auto = strcmp(value, "auto") == 0;

    if (!is_auto && option_read_number(value, 0, CUPTI_PC_PERIOD_MOST - CUPTI_PC_PERIOD_LEAST, &number) != 0)
        return error_set(err, ERR_BAD_ARGUMENT,
                         "--pc-sampling-interval must be auto or a number from 0 to %d, not '%s'",
                         CUPTI_PC_PERIOD_MOST - CUPTI_PC_PERIOD_LEAST, value);
    cuda_source_settings(settings)->pc_period = is_auto ? 0 : (uint8_t)(CUPTI_PC_PERIOD_LEAST + number);
    return 0;
}

static uint32_t group_bits(const char *name, size_t length)
{
    static const struct {
        const char *name;
        uint32_t bits;
    } groups[] = {
        { "kernel", CUDA_GROUP_BIT(KERNEL) }, { "memory", CUDA_GROUP_BIT(MEMORY) },    { "sync", CUDA_GROUP_BIT(SYNC) },
        { "other", CUDA_GROUP_BIT(OTHER) },   { "all", (1u << CUDA_GROUP_COUNT) - 1 },
    };

    for (size_t i = 0; i < COUNT_OF(groups); i++)
        if (strlen(groups[i].name) == length && memcmp(groups[i].name, name, length) == 0)
            return groups[i].bits;
    return 0;
}

/* kernel, or kernel:500 */
static int cuda_source_take_group(struct cuda_settings *cuda, const char *text, struct error *err)
{
    size_t length = strcspn(text, ":");
    uint32_t bits = group_bits(text, length);
    uint64_t ns;

    if (!bits)
        return error_set(err, ERR_BAD_ARGUMENT,
                         "--cudabacktrace must be all, none, or a list of kernel, memory, sync and other, not "
                         "'%s'",
                         text);
    cuda->backtrace_groups |= bits;
    if (!text[length]) {
        cuda->backtrace_unset = 1;
        return 0;
    }
    if (option_read_number(text + length + 1, 0, LONGEST_BACKTRACE_NS, &ns) != 0)
        return error_set(err, ERR_BAD_ARGUMENT,
                         "the threshold in --cudabacktrace must be a number of nanoseconds, not "
                         "'%s'",
                         text + length + 1);
    cuda->least_ns = ns < cuda->least_ns ? ns : cuda->least_ns;
    cuda->most_ns = ns > cuda->most_ns ? ns : cuda->most_ns;
    return 0;
}

static int cuda_source_take_backtrace(void *settings, const char *value, struct error *err)
{
    int truth = option_bool(value); /* the old spelling */
    char **groups = option_split(truth < 0 ? value : truth ? "all" : "none", NULL);
    struct cuda_settings fresh = *cuda_source_settings(settings);
    int code = 0;

    if (!groups)
        return error_no_memory(err);
    fresh.backtrace_given = 1;
    fresh.backtrace_groups = 0;
    fresh.backtrace_unset = 0;
    fresh.least_ns = UINT64_MAX;
    fresh.most_ns = 0;
    if (!groups[0]) {
        code = error_set(err, ERR_BAD_ARGUMENT,
                         "--cudabacktrace needs a value: all, none, or a list of kernel, memory, sync and other");
        goto free_groups;
    }
    for (char **group = groups; *group; group++)
        if (strcmp(*group, "none") != 0 && (code = cuda_source_take_group(&fresh, *group, err)) != 0)
            goto free_groups;
    *cuda_source_settings(settings) = fresh;
free_groups:
    free(groups);
    return code;
}

static int take_backtrace_threshold(void *settings, const char *value, struct error *err)
{
    if (option_read_number(value, 0, LONGEST_BACKTRACE_NS, &cuda_source_settings(settings)->backtrace_ns) != 0)
        return error_set(err, ERR_BAD_ARGUMENT, "--cudabacktrace-threshold must be a number of nanoseconds, not '%s'",
                         value);
    return 0;
}

/* An agent knows one threshold. The smallest keeps every chain that was asked for, and some more. */
static uint64_t backtrace_threshold(const struct cuda_settings *cuda, struct text *warnings)
{
    uint64_t least = cuda->least_ns, most = cuda->most_ns;

    if (cuda->backtrace_unset) {
        least = cuda->backtrace_ns < least ? cuda->backtrace_ns : least;
        most = cuda->backtrace_ns > most ? cuda->backtrace_ns : most;
    }
    if (least < most)
        text_addf(warnings,
                  "--cudabacktrace has one threshold for all groups: the smallest that was given, %llu ns, is used\n",
                  (unsigned long long)least);
    return least;
}

static int cuda_source_finish(struct profile_settings *settings, struct collect_options *collect, struct error *err)
{
    struct cuda_settings *cuda = cuda_source_settings(settings);
    const struct {
        int given;
        uint32_t flag;
    } flags[] = {
        { cuda->all_calls, WIRE_CUDA_ALL_CALLS },
        { cuda->graph_nodes, WIRE_CUDA_GRAPH_NODES },
        { cuda->events, WIRE_CUDA_EVENTS },
        { cuda->memory_usage, WIRE_CUDA_MEMORY },
        { cuda->cpu_faults, WIRE_CUDA_CPU_FAULTS },
        { cuda->gpu_faults, WIRE_CUDA_GPU_FAULTS },
        { cuda->flush_on_stop, WIRE_CUDA_FLUSH_ON_STOP },
        { cuda->yield, WIRE_CUDA_YIELD },
    };
    const uint32_t unasked = WIRE_CUDA_FLUSH_ON_STOP; /* by default */

    for (size_t i = 0; i < COUNT_OF(flags); i++)
        collect->cuda_flags |= flags[i].given ? flags[i].flag : 0;
    if (!(collect->sources & WIRE_BIT(CUDA))) {
        if ((collect->cuda_flags & ~unasked) || cuda->backtrace_groups || cuda->flush_interval_ms || cuda->pc_mode)
            text_add(&settings->warnings, "the CUDA options have no effect: add cuda to --trace\n");
        return 0;
    }
    if (python_has_backtrace(settings) && !cuda->backtrace_given) { /* Python frames stand beside the native ones */
        cuda->backtrace_groups = group_bits("all", strlen("all"));
        cuda->backtrace_unset = 1;
    }
    collect->cuda_pc_mode = cuda->pc_mode;
    collect->cuda_pc_period = cuda->pc_period ? cuda->pc_period : pc_periods[cuda->pc_mode];
    collect->cuda_flush_interval_ms = cuda->flush_interval_ms;
    collect->cuda_backtrace_groups = cuda->backtrace_groups;
    if (cuda->backtrace_groups)
        collect->cuda_backtrace_ns = backtrace_threshold(cuda, &settings->warnings);
    return 0;
}

/* clang-format off */
static const struct option cuda_source_options[] = {
    { .name = "cuda-graph-trace", .kind = OPTION_CUSTOM, .value = "graph|node",
      .words = OPTION_WORDS("graph", "node", "graph:host-only", "graph:host-and-device", "node:host-only",
                            "node:host-and-device"),
      .take = take_graph_trace, .help = "Trace CUDA graphs as a whole (graph), or each of their nodes (node). Default: "
                                        "graph." },
    { .name = "cuda-event-trace", .kind = OPTION_CUSTOM, .value = "auto|BOOL",
      .words = OPTION_WORDS("auto", "true", "false"),
      .take = take_event_trace, .help = "Record the time when the GPU reaches each CUDA event; auto means true. "
                                        "Default: false." },
    { .name = "cuda-memory-usage", .kind = OPTION_BOOL, .offset = offsetof(struct cuda_settings, memory_usage),
      .help = "Record allocations of GPU memory, and memory pools. Default: false." },
    { .name = "cuda-um-cpu-page-faults", .kind = OPTION_BOOL, .offset = offsetof(struct cuda_settings, cpu_faults),
      .help = "Record CPU page faults in unified memory. Default: false." },
    { .name = "cuda-um-gpu-page-faults", .kind = OPTION_BOOL, .offset = offsetof(struct cuda_settings, gpu_faults),
      .help = "Record GPU page faults in unified memory. Default: false." },
    { .name = "cuda-trace-all-apis", .kind = OPTION_BOOL, .offset = offsetof(struct cuda_settings, all_calls),
      .help = "Trace all CUDA API calls, not only those that matter for performance. Default: false." },
    { .name = "cudabacktrace", .kind = OPTION_CUSTOM, .value = "LIST",
      .words = OPTION_WORDS("all", "none", "kernel", "memory", "sync", "other"),
      .take = cuda_source_take_backtrace,
      .help = "Record a backtrace for CUDA calls that take at least 80000 ns: all, none, or a list of kernel, memory, "
              "sync, other. Append :NS for another threshold (kernel:500). Default: none." },
    { .name = "pc-sampling", .kind = OPTION_CUSTOM, .value = "continuous|serialized|none",
      .words = OPTION_WORDS("continuous", "serialized", "none"),
      .take = take_pc_sampling,
      .help = "Sample what warps wait for, by kernel, instruction and source line (programs compiled with -lineinfo). "
              "serialized runs one kernel at a time and tells launches apart. Default: none." },
    { .name = "pc-sampling-interval", .kind = OPTION_CUSTOM, .value = "auto|N", .take = take_pc_interval,
      .help = "Take a sample every 2^(5+N) cycles, N from 0 to 26. Default: auto, which is 10 for continuous and 8 for "
              "serialized." },
    { .name = "cuda-flush-interval", .kind = OPTION_CUSTOM, .value = "MS", .take = take_flush_interval,
      .help = "Fetch GPU records from CUPTI every MS ms; 0 means 100. Default: 0." },
    { .name = "flush-on-cudaprofilerstop", .kind = OPTION_BOOL, .offset = offsetof(struct cuda_settings, flush_on_stop),
      .help = "Let cudaProfilerStop() wait until the records of all preceding GPU work are flushed. Default: true." },
    { .name = "cuda-yield", .kind = OPTION_BOOL, .offset = offsetof(struct cuda_settings, yield),
      .help = "Release CUPTI to a program that uses it itself (torch.profiler). The program then gets the GPU events, "
              "and the report does not. Default: false." },
    { .name = "cudabacktrace-threshold", .kind = OPTION_CUSTOM, .value = "NS",
      .take = take_backtrace_threshold, .hidden = 1,
      .help = "Old spelling of a threshold in --cudabacktrace." },
    { 0 },
};
/* clang-format on */

static const struct cmd_source_trace cuda_source_traces[] = {
    { .name = "cuda", .by_default = BY_DEFAULT },
    { .name = "cuda-hw", .is_other_name = 1 },
    { .name = "cuda-sw", .is_other_name = 1 },
    { 0 },
};

static const struct cmd_source_label cuda_source_labels[] = {
    { "NvDriverVersion", "NVIDIA driver", NULL },
    { "CudaDriverVersion", "CUDA driver", cuda_add_version },
    { 0 },
};

static const struct cmd_source_table cuda_source_tables[] = {
    { "cuda api", "CUPTI_ACTIVITY_KIND_RUNTIME" },
    { "cuda kernels", "CUPTI_ACTIVITY_KIND_KERNEL" },
    { 0 },
};

const struct cmd_source cmd_source_cuda = {
    .events = WIRE_BIT(CUDA),
    .traces = cuda_source_traces,
    .options = cuda_source_options,
    .settings = &cuda_source_defaults,
    .settings_bytes = sizeof cuda_source_defaults,
    .finish = cuda_source_finish,
    .examinations = cuda_examinations,
    .labels = cuda_source_labels,
    .tables = cuda_source_tables,
    .info = cuda_info,
    .summary = &cuda_summary,
    .last = SOURCE_LAST_IN_DOCTOR | SOURCE_LAST_IN_INFO,
};
