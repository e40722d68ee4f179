/* GPU metrics: options as in nsys, and the readings that they select. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "abi/counters/counter_sections.h"
#include "base/nearest.h"
#include "cmd/cmd_source.h"
#include "cmd/profile/profile_settings.h"
#include "collect/gpu/gpu_metric_table.h"
#include "collect/gpu/gpu_probe.h"
#include "gpu_doctor.h"
#include "gpu_info.h"
#include "gpu_summary.h"
#include "wire/gpu_device_name.h"

enum { USUAL_HZ = 10, MOST_HZ = 100 };
enum { USUAL_COUNTERS_HZ = 10000, LEAST_COUNTERS_HZ = 10, MOST_COUNTERS_HZ = 200000 }; /* nsys's */
#define USUAL_COUNTERS "general"

enum wanted_source { SOURCE_AUTO, SOURCE_COUNTERS, SOURCE_GPM, SOURCE_NVML };

struct gpu_source_settings {
    int is_given; /* one of the options was */
    int has_devices, help_devices, help_set;
    enum collect_gpu_devices devices;
    const char *list;
    int has_set;
    uint64_t metrics;
    struct text counters;  /* sets and metrics of CUPTI, with commas between them */
    uint32_t frequency_hz; /* 0: the usual one of each source */
    enum wanted_source source;
};
static const struct gpu_source_settings gpu_source_defaults = { .devices = COLLECT_GPU_VISIBLE };

static struct gpu_source_settings *gpu_source_settings(void *settings)
{
    struct gpu_source_settings *gpu = profile_source_settings(settings, &cmd_source_gpu);

    gpu->is_given = 1; /* to be called by options only */
    return gpu;
}

/* ---- Values ---------------------------------------------------------------------------------------------------- */

static int take_devices(void *settings, const char *value, struct error *err)
{
    static const struct {
        const char *name;
        enum collect_gpu_devices devices;
    } words[] = { { "none", COLLECT_GPU_NONE }, { "all", COLLECT_GPU_ALL }, { "cuda-visible", COLLECT_GPU_VISIBLE } };
    struct gpu_source_settings *gpu = gpu_source_settings(settings);

    gpu->has_devices = 1;
    gpu->help_devices |= strcmp(value, "help") == 0;
    gpu->devices = COLLECT_GPU_LIST;
    gpu->list = value;
    for (size_t i = 0; i < COUNT_OF(words); i++)
        if (strcmp(words[i].name, value) == 0)
            gpu->devices = words[i].devices;
    if (!*value)
        return error_set(err, ERR_BAD_ARGUMENT,
                         "--gpu-metrics-devices needs a value: none, all, cuda-visible, or a list such as 0,1 (help "
                         "lists the GPUs)");
    return 0;
}

static int gpu_source_take_frequency(void *settings, const char *value, struct error *err)
{
    static const struct option_range frequency = { "gpu-metrics-frequency", "samples per second", 1, MOST_COUNTERS_HZ };

    return option_range_read_small(&frequency, value, &gpu_source_settings(settings)->frequency_hz, err);
}

/* A set by name or number; GPU_SETS: there is none. */
static size_t find_set(const char *name)
{
    size_t i = 0;

    while (i < GPU_SETS && strcmp(gpu_sets[i].name, name) != 0 && (name[0] != (char)('0' + i) || name[1]))
        i++;
    return i;
}

/* Metrics of a set or of a reading; 0: there are none of that name. */
static uint64_t find_metrics(const char *name)
{
    size_t set = find_set(name);

    return set < GPU_SETS ? gpu_metrics_of_set((enum gpu_set)set) : gpu_metrics_of_reading(name);
}

static const char *nearest_metric(const char *name)
{
    static char texts[GPU_READINGS][32];
    const char *names[GPU_READINGS + 1] = { 0 };

    for (size_t i = 0; i < GPU_READINGS; i++) {
        gpu_reading_name((enum gpu_reading)i, texts[i], sizeof texts[i]);
        names[i] = texts[i];
    }
    return nearest_name(name, names);
}

static int refuse_metric(const char *name, struct error *err)
{
    const char *nearest = nearest_metric(name);

    return error_set(err, ERR_BAD_ARGUMENT,
                     "unknown set or metric '%s' in --gpu-metrics-set%s%s%s; "
                     "--gpu-metrics-set=help lists them",
                     name, nearest ? "; did you mean '" : "", nearest ? nearest : "", nearest ? "'?" : "");
}

/* Counters: metrics of CUPTI, which have a unit of the chip before two underscores (sm__cycles_active.avg), nsys's
 * sets, and what goes with a set of readings. */
static int gpu_source_take_counters(struct gpu_source_settings *gpu, const char *name)
{
    size_t set = find_set(name);
    int is_set = set == GPU_SET_GENERAL || set == GPU_SET_FULL;

    if (!is_set && !strstr(name, "__") && !sampling_set_find(name))
        return 0;
    text_addf(&gpu->counters, "%s%s", gpu->counters.length ? "," : "", is_set ? USUAL_COUNTERS : name);
    return !is_set;
}

static int gpu_source_take_metric(struct gpu_source_settings *gpu, const char *name, struct error *err)
{
    uint64_t found = find_metrics(name);

    if (gpu_source_take_counters(gpu, name))
        found |= sampling_set_find(name) ? gpu_metrics_of_set(GPU_SET_BASIC) : 0;
    else if (strcmp(name, "help") == 0)
        gpu->help_set = 1;
    else if (!found)
        return refuse_metric(name, err);
    gpu->metrics |= found;
    return 0;
}

/* A file of names, a line each; what follows a # is a remark. */
static int take_file(struct gpu_source_settings *gpu, const char *path, struct error *err)
{
    FILE *file = fopen(path, "re");
    char *line = NULL, *rest;
    size_t room = 0;
    int code = 0;

    if (!file)
        return error_set(err, ERR_NOT_FOUND, "cannot read the metrics in '%s': %s", path, strerror(errno));
    while (getline(&line, &room, file) >= 0) {
        line[strcspn(line, "#\r\n")] = 0;
        char *name = strtok_r(line, " \t", &rest);
        if (name && (code = gpu_source_take_metric(gpu, name, err)) != 0)
            goto close_file;
    }
close_file:
    free(line);
    fclose(file);
    return code;
}

static int take_set(void *settings, const char *value, struct error *err)
{
    static const char in_file[] = "file:";
    struct gpu_source_settings *gpu = gpu_source_settings(settings);
    char **names = option_split(value, NULL);
    int code = 0;

    if (!names)
        return error_no_memory(err);
    gpu->has_set = 1;
    gpu->metrics = 0;
    for (char **name = names; *name; name++)
        if ((code = text_begins_with(*name, in_file) ? take_file(gpu, *name + strlen(in_file), err)
                                                     : gpu_source_take_metric(gpu, *name, err)) != 0)
            goto free_names;
free_names:
    free(names);
    return code;
}

static const char *const source_names[] = {
    [SOURCE_AUTO] = "auto", [SOURCE_COUNTERS] = "counters", [SOURCE_GPM] = "gpm", [SOURCE_NVML] = "nvml", NULL
};

static int take_source(void *settings, const char *value, struct error *err)
{
    for (size_t i = 0; source_names[i]; i++)
        if (strcmp(source_names[i], value) == 0) {
            gpu_source_settings(settings)->source = (enum wanted_source)i;
            return 0;
        }
    return error_set(err, ERR_BAD_ARGUMENT, "--gpu-metrics-source must be auto, counters, gpm or nvml, not '%s'",
                     value);
}

/* ---- help ------------------------------------------------------------------------------------------------------ */

static void list_devices(struct text *out)
{
    struct gpu_probe probe;

    gpu_probe_ask(&probe);
    text_add(out,
             "--gpu-metrics-devices takes one of these words, or a list of GPUs by number, UUID or PCI address:\n\n"
             "  none          no GPU metrics\n"
             "  all           all GPUs of this machine\n"
             "  cuda-visible  the GPUs that CUDA shows to the program\n");
    for (size_t i = 0; i < probe.count; i++)
        text_addf(out, "  %-12u  %s, %s, %s\n", probe.devices[i].device, probe.devices[i].name, probe.devices[i].bus_id,
                  probe.devices[i].uuid);
    if (probe.refusals.length)
        text_addf(out, "\n%s", text_string(&probe.refusals));
    text_add_char(out, '\n');
    gpu_probe_free(&probe);
}

static void list_sets(struct text *out)
{
    text_add(out, "--gpu-metrics-set takes a set, by name or number:\n\n");
    for (size_t i = 0; i < GPU_SETS; i++)
        text_addf(out, "  %zu  %-22s %s\n", i, gpu_sets[i].name, gpu_sets[i].about);
    text_add(out, "\nor a set of counters by nsys's name, for GPUs of that chip:\n\n");
    for (const struct sampling_set *set = sampling_sets; set->name; set++)
        text_addf(out, "     %-22s %s\n", set->name, set->title);
    text_add(
        out,
        "\nor file:NAME, a file with a set or metric on each line, or a list of metrics. Those of counters are listed "
        "by tacho ncu --query-metrics; others are:\n\n");
    for (size_t i = 0; i < GPU_METRICS_COUNT; i++) {
        char name[64];
        gpu_reading_name(gpu_metrics[i].reading, name, sizeof name);
        text_addf(out, "     %-22s %s\n", name, gpu_metrics[i].name);
    }
    text_add_char(out, '\n');
}

static void gpu_source_list_values(struct profile_settings *settings, struct text *out)
{
    const struct gpu_source_settings *gpu = profile_source_settings(settings, &cmd_source_gpu);

    if (gpu->help_devices)
        list_devices(out);
    if (gpu->help_set)
        list_sets(out);
}

/* ---- what it comes to ------------------------------------------------------------------------------------------ */

static uint64_t chosen_metrics(const struct gpu_source_settings *gpu)
{
    uint64_t gpm = gpu_metrics_of_origin(GPU_ORIGIN_GPM), basic = gpu_metrics_of_set(GPU_SET_BASIC);
    uint64_t metrics = gpu->has_set ? gpu->metrics
                                    : gpu_metrics_of_set(gpu->is_given ? GPU_SET_GENERAL : GPU_SET_BASIC);

    if (gpu->source == SOURCE_NVML)
        metrics &= ~gpm;
    if (gpu->source == SOURCE_GPM)
        metrics &= gpm | basic;
    return metrics;
}

/* Counters are sampled if the user has asked for GPU metrics and named neither another source nor only readings. */
static uint32_t chosen_counters_hz(const struct gpu_source_settings *gpu)
{
    int is_wanted = gpu->source == SOURCE_COUNTERS ||
                    (gpu->source == SOURCE_AUTO && gpu->is_given && (!gpu->has_set || gpu->counters.length));

    if (!is_wanted)
        return 0;
    return gpu->frequency_hz ? gpu->frequency_hz : USUAL_COUNTERS_HZ;
}

static int is_gpu(const struct gpu_probe *probe, const char *word, size_t length)
{
    for (size_t i = 0; i < probe->count; i++)
        if (gpu_device_is_called(&probe->devices[i], word, length))
            return 1;
    return 0;
}

/* Refuses a GPU that is not there before the program runs. Where GPUs cannot be listed, the capture reports why. */
static int check_list(const char *list, struct error *err)
{
    struct gpu_probe probe;
    char numbers[32];
    int code = 0;

    gpu_probe_ask(&probe);
    gpu_device_numbers(probe.count, numbers, sizeof numbers);
    for (const char *word = list; *word && probe.count;) {
        size_t length = strcspn(word, ",");
        if (!is_gpu(&probe, word, length)) {
            code = error_set(err, ERR_BAD_ARGUMENT,
                             "there is no GPU '%.*s' here, only %s; --gpu-metrics-devices=help lists them", (int)length,
                             word, numbers);
            break;
        }
        word += length + (word[length] == ',');
    }
    gpu_probe_free(&probe);
    return code;
}

static int gpu_source_check(const struct gpu_source_settings *gpu, uint32_t counters_hz, struct error *err)
{
    if (counters_hz && counters_hz < LEAST_COUNTERS_HZ)
        return error_set(err, ERR_BAD_ARGUMENT,
                         "counters are sampled at least %d times a second, not %u; --gpu-metrics-source=gpm or nvml "
                         "takes 1 to %d",
                         LEAST_COUNTERS_HZ, counters_hz, MOST_HZ);
    return gpu->devices == COLLECT_GPU_LIST && !gpu->help_devices ? check_list(gpu->list, err) : 0;
}

static int gpu_source_finish(struct profile_settings *settings, struct collect_options *collect, struct error *err)
{
    const struct gpu_source_settings *gpu = profile_source_settings(settings, &cmd_source_gpu);
    int has_cuda = (collect->sources & WIRE_BIT(CUDA)) != 0;

    if (gpu->devices == COLLECT_GPU_NONE || (!gpu->is_given && !has_cuda))
        return 0;
    if (gpu_source_check(gpu, chosen_counters_hz(gpu), err) != 0)
        return err->code;
    collect->gpu = (struct collect_gpu_options){
        .devices = gpu->devices == COLLECT_GPU_VISIBLE && !has_cuda ? COLLECT_GPU_ALL : gpu->devices,
        .list = gpu->list,
        .is_asked = gpu->is_given,
        .metrics = chosen_metrics(gpu),
        .frequency_hz = !gpu->frequency_hz || gpu->frequency_hz > MOST_HZ ? USUAL_HZ : gpu->frequency_hz,
        .counters_hz = chosen_counters_hz(gpu),
        .counters = gpu->counters.length ? text_string(&gpu->counters) : USUAL_COUNTERS,
    };
    if (!collect->gpu.metrics && !collect->gpu.counters_hz)
        return error_set(err, ERR_BAD_ARGUMENT, "--gpu-metrics-source=%s has none of the metrics of --gpu-metrics-set",
                         source_names[gpu->source]);
    if (gpu->frequency_hz > MOST_HZ && !collect->gpu.counters_hz)
        text_addf(&settings->warnings, "GPM and NVML are read %d times a second: faster rates need counters\n",
                  USUAL_HZ);
    if (gpu->devices == COLLECT_GPU_VISIBLE && !has_cuda)
        text_add(&settings->warnings, "--gpu-metrics-devices=cuda-visible needs -t cuda: all GPUs are read\n");
    return 0;
}

/* A rank that CUDA shows a single GPU has it for itself, as a rule: no other rank would record it. */
static const char *gpu_source_leave_host(struct collect_options *collect)
{
    const char *visible = getenv("CUDA_VISIBLE_DEVICES");
    int has_own = visible && *visible && !strchr(visible, ',');

    if (collect->gpu.devices == COLLECT_GPU_NONE || (collect->gpu.devices == COLLECT_GPU_VISIBLE && has_own))
        return NULL;
    collect->gpu = (struct collect_gpu_options){ .devices = COLLECT_GPU_NONE };
    return "GPU metrics";
}

/* clang-format off */
static const struct option gpu_source_options[] = {
    { .name = "gpu-metrics-devices", .kind = OPTION_CUSTOM, .value = "LIST",
      .words = OPTION_WORDS("none", "all", "cuda-visible", "help"),
      .take = take_devices,
      .help = "Record metrics of these GPUs: none, all, cuda-visible, or a list of numbers, UUIDs or PCI addresses "
              "(`help` lists the GPUs). Default: power, clocks, temperature, throttling, memory and utilization of the "
              "GPUs that CUDA shows to the program, if CUDA is traced." },
    { .name = "gpu-metrics-set", .kind = OPTION_CUSTOM, .value = "SET", .take = take_set,
      .help = "GPU metrics to record: a set by name or number, also by nsys's name (gh100), file:NAME, or a list of "
              "metrics (`help` lists them; those of counters are listed by `tacho ncu --query-metrics`). Default: "
              "general if one of these options is given, else basic." },
    { .name = "gpu-metrics-source", .kind = OPTION_CUSTOM, .value = "SOURCE", .words = source_names,
      .take = take_source,
      .help = "Source of GPU metrics: auto, counters, gpm (Hopper and later), nvml. Default: auto." },
    { .name = "gpu-metrics-frequency", .kind = OPTION_CUSTOM, .value = "HZ", .take = gpu_source_take_frequency,
      .help = "Samples of GPU metrics per second: 10 to 200000 of counters, 1 to 100 of GPM and NVML. Default: 10000 "
              "of counters, 10 of GPM and NVML." },
    { .name = "gpu-metrics-device", .kind = OPTION_CUSTOM, .value = "LIST", .take = take_devices, .hidden = 1,
      .help = "Old spelling of --gpu-metrics-devices." },
    { 0 },
};
/* clang-format on */

static const struct cmd_source_table gpu_source_tables[] = {
    { "gpu metrics", "GPU_METRICS" },
    { 0 },
};

const struct cmd_source cmd_source_gpu = {
    .options = gpu_source_options,
    .settings = &gpu_source_defaults,
    .settings_bytes = sizeof(struct gpu_source_settings),
    .list_values = gpu_source_list_values,
    .finish = gpu_source_finish,
    .leave_host = gpu_source_leave_host,
    .examinations = gpu_examinations,
    .tables = gpu_source_tables,
    .info = gpu_info,
    .summary = &gpu_summary,
    .last = SOURCE_LAST_IN_DOCTOR | SOURCE_LAST_IN_INFO,
};
