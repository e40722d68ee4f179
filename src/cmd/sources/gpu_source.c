/* GPU metrics: options as in nsys, and the readings that they select. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/nearest.h"
#include "cmd/cmd_source.h"
#include "cmd/profile/profile_settings.h"
#include "collect/gpu/gpu_probe.h"
#include "gpu_doctor.h"
#include "gpu_info.h"
#include "gpu_summary.h"

enum { USUAL_HZ = 10, MOST_HZ = 100, USUAL_COUNTERS_HZ = 10000, MOST_COUNTERS_HZ = 200000 };

enum wanted_source { SOURCE_AUTO, SOURCE_COUNTERS, SOURCE_GPM, SOURCE_NVML };

struct settings {
    int is_given; /* one of the options was */
    int has_devices, help_devices, help_set;
    enum collect_gpu_devices devices;
    const char *list;
    int has_set;
    uint64_t metrics;
    struct text counters;  /* "metrics=" and CUPTI's names, with commas between them */
    uint32_t frequency_hz; /* 0: the usual one of each source */
    enum wanted_source source;
};
static const struct settings defaults = { .devices = COLLECT_GPU_VISIBLE };

static struct settings *own(void *settings)
{
    struct settings *gpu = profile_source_settings(settings, &cmd_source_gpu);

    gpu->is_given = 1; /* to be called by options only */
    return gpu;
}

/* ---- Values ---------------------------------------------------------------------------------------------------- */

static const char *const *device_names(void)
{
    static const char *const names[] = { "none", "all", "cuda-visible", "help", NULL };

    return names;
}

static int take_devices(void *settings, const char *value, struct error *err)
{
    static const struct {
        const char *name;
        enum collect_gpu_devices devices;
    } words[] = { { "none", COLLECT_GPU_NONE }, { "all", COLLECT_GPU_ALL }, { "cuda-visible", COLLECT_GPU_VISIBLE } };
    struct settings *gpu = own(settings);

    gpu->has_devices = 1;
    gpu->help_devices |= strcmp(value, "help") == 0;
    gpu->devices = COLLECT_GPU_LIST;
    gpu->list = value;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strcmp(words[i].name, value) == 0)
            gpu->devices = words[i].devices;
    if (!*value)
        return error_set(err, ERR_BAD_ARGUMENT,
                         "--gpu-metrics-devices needs a value: none, all, cuda-visible, or a list such as 0,1 (help "
                         "lists the GPUs)");
    return 0;
}

static int take_frequency(void *settings, const char *value, struct error *err)
{
    char *end;
    unsigned long hz = strtoul(value, &end, 10);

    if (!isdigit((unsigned char)*value) || *end || hz < 1 || hz > MOST_COUNTERS_HZ)
        return error_set(err, ERR_BAD_ARGUMENT,
                         "--gpu-metrics-frequency must be a number of samples per second from 1 to %d, not '%s'",
                         MOST_COUNTERS_HZ, value);
    own(settings)->frequency_hz = (uint32_t)hz;
    return 0;
}

/* Metrics of a set, by name or number, or of a reading; 0: there are none of that name. */
static uint64_t find_metrics(const char *name)
{
    for (size_t i = 0; i < GPU_SETS; i++)
        if (strcmp(gpu_sets[i].name, name) == 0 ||
            (isdigit((unsigned char)*name) && !name[1] && name[0] - '0' == (int)i))
            return gpu_metrics_of_set((enum gpu_set)i);
    return gpu_metrics_of_reading(name);
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

/* Metrics of CUPTI have a unit of the chip before two underscores: sm__cycles_active.avg. */
static int take_counter(struct settings *gpu, const char *name)
{
    if (!strstr(name, "__"))
        return 0;
    text_addf(&gpu->counters, "%s%s", gpu->counters.length ? "," : "metrics=", name);
    return 1;
}

static int take_set(void *settings, const char *value, struct error *err)
{
    struct settings *gpu = own(settings);
    char **names = option_split(value, NULL);
    int code = 0;

    if (!names)
        return error_set(err, ERR_NO_MEMORY, "out of memory");
    gpu->has_set = 1;
    gpu->metrics = 0;
    for (char **name = names; *name; name++) {
        uint64_t found = find_metrics(*name);
        if (take_counter(gpu, *name))
            continue;
        gpu->metrics |= found;
        gpu->help_set |= strcmp(*name, "help") == 0;
        if (!found && strcmp(*name, "help") != 0) {
            code = refuse_metric(*name, err);
            goto free_names;
        }
    }
free_names:
    free(names);
    return code;
}

static const char *const source_names[] = {
    [SOURCE_AUTO] = "auto", [SOURCE_COUNTERS] = "counters", [SOURCE_GPM] = "gpm", [SOURCE_NVML] = "nvml", NULL
};

static const char *const *sources(void)
{
    return source_names;
}

static int take_source(void *settings, const char *value, struct error *err)
{
    for (size_t i = 0; source_names[i]; i++)
        if (strcmp(source_names[i], value) == 0) {
            own(settings)->source = (enum wanted_source)i;
            return 0;
        }
    return error_set(err, ERR_BAD_ARGUMENT, "--gpu-metrics-source must be auto, counters, gpm or nvml, not '%s'",
                     value);
}

/* ---- help ------------------------------------------------------------------------------------------------------ */

static void list_devices(struct text *out)
{
    struct gpu_probe probe;

    gpu_probe_ask(&probe, 0);
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
    text_add(out, "\nor a list of these metrics:\n\n");
    for (size_t i = 0; i < GPU_METRICS_COUNT; i++) {
        char name[64];
        gpu_reading_name(gpu_metrics[i].reading, name, sizeof name);
        text_addf(out, "     %-22s %s\n", name, gpu_metrics[i].name);
    }
    text_add_char(out, '\n');
}

static void list_values(struct profile_settings *settings, struct text *out)
{
    const struct settings *gpu = profile_source_settings(settings, &cmd_source_gpu);

    if (gpu->help_devices)
        list_devices(out);
    if (gpu->help_set)
        list_sets(out);
}

/* ---- what it comes to ------------------------------------------------------------------------------------------ */

static uint64_t chosen_metrics(const struct settings *gpu)
{
    uint64_t gpm = gpu_metrics_of_origin(GPU_ORIGIN_GPM), basic = gpu_metrics_of_set(GPU_SET_BASIC);
    uint64_t metrics = gpu->has_set ? gpu->metrics : gpu_metrics_of_set(GPU_SET_GENERAL);

    if (gpu->source == SOURCE_NVML)
        metrics &= ~gpm;
    if (gpu->source == SOURCE_GPM)
        metrics &= gpm | basic;
    return metrics;
}

/* Counters are sampled if the user has asked for GPU metrics and named neither another source nor only readings. */
static uint32_t chosen_counters_hz(const struct settings *gpu)
{
    int is_wanted = gpu->source == SOURCE_COUNTERS ||
                    (gpu->source == SOURCE_AUTO && (!gpu->has_set || gpu->counters.length));

    if (!is_wanted)
        return 0;
    return gpu->frequency_hz ? gpu->frequency_hz : USUAL_COUNTERS_HZ;
}

static int finish(struct profile_settings *settings, struct collect_options *collect, struct error *err)
{
    const struct settings *gpu = profile_source_settings(settings, &cmd_source_gpu);
    int has_cuda = (collect->sources & WIRE_BIT(CUDA)) != 0;

    if (gpu->devices == COLLECT_GPU_NONE || !gpu->is_given)
        return 0;
    collect->gpu = (struct collect_gpu_options){
        .devices = gpu->devices == COLLECT_GPU_VISIBLE && !has_cuda ? COLLECT_GPU_ALL : gpu->devices,
        .list = gpu->list,
        .metrics = chosen_metrics(gpu),
        .frequency_hz = !gpu->frequency_hz || gpu->frequency_hz > MOST_HZ ? USUAL_HZ : gpu->frequency_hz,
        .counters_hz = chosen_counters_hz(gpu),
        .counters = gpu->counters.length ? text_string(&gpu->counters) : NULL,
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

/* clang-format off */
static const struct option options[] = {
    { .name = "gpu-metrics-devices", .kind = OPTION_CUSTOM, .value = "LIST", .choices = device_names,
      .take = take_devices,
      .help = "Record metrics of these GPUs: none, all, cuda-visible, or a list of numbers, UUIDs or PCI addresses "
              "(`help` lists the GPUs). Default: none; cuda-visible if another of these options is given." },
    { .name = "gpu-metrics-set", .kind = OPTION_CUSTOM, .value = "SET", .take = take_set,
      .help = "GPU metrics to record: a set by name or number, or a list of metrics (`help` lists them; those of "
              "counters are listed by `tacho ncu --query-metrics`). Default: general." },
    { .name = "gpu-metrics-source", .kind = OPTION_CUSTOM, .value = "SOURCE", .choices = sources, .take = take_source,
      .help = "Source of GPU metrics: auto, counters, gpm (Hopper and later), nvml. Default: auto." },
    { .name = "gpu-metrics-frequency", .kind = OPTION_CUSTOM, .value = "HZ", .take = take_frequency,
      .help = "Samples of GPU metrics per second, up to 200000; GPM and NVML are read at most 100 times. Default: "
              "10000 of counters, 10 of GPM and NVML." },
    { .name = "gpu-metrics-device", .kind = OPTION_CUSTOM, .value = "LIST", .take = take_devices, .hidden = 1,
      .help = "Old spelling of --gpu-metrics-devices." },
    { 0 },
};
/* clang-format on */

static const struct cmd_source_table tables[] = {
    { "gpu metrics", "GPU_METRICS" },
    { 0 },
};

const struct cmd_source cmd_source_gpu = {
    .options = options,
    .settings = &defaults,
    .settings_bytes = sizeof(struct settings),
    .list_values = list_values,
    .finish = finish,
    .examinations = gpu_examinations,
    .tables = tables,
    .info = gpu_info,
    .summary = &gpu_summary,
    .last = SOURCE_LAST_IN_DOCTOR | SOURCE_LAST_IN_INFO,
};
