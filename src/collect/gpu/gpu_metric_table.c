#include "gpu_metric_table.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

const struct gpu_metric_row gpu_metrics[GPU_METRICS_COUNT] = {
#define GPU_METRIC(reading, level, kind, argument, name)                                     \
    { GPU_READING_##reading, GPU_SET_##level, GPU_METRIC_##kind, argument, name },
#include "gpu_metric_table.def"
};

const struct gpu_set_text gpu_sets[GPU_SETS] = {
    [GPU_SET_BASIC] = { "basic", "Power, clocks, temperature, throttling, memory and utilization, from NVML" },
    [GPU_SET_GENERAL] = { "general", "basic, and SMs, tensor cores, DRAM, PCIe and NVLink, from counters and GPM" },
    [GPU_SET_FULL] = { "full", "general, and all readings of NVML and GPM; NVML measures PCIe for 20 ms a reading" },
};

static const struct {
    const char *id;
    enum gpu_origin origin;
} metric_table_readings[GPU_READINGS] = {
#define GPU_READING(id, name, unit) [GPU_READING_##id] = { #id, GPU_ORIGIN_NVML },
#define GPM_READING(id, number, name, unit) [GPU_READING_##id] = { #id, GPU_ORIGIN_GPM },
#include "wire/gpu_readings.def"
};

const char *const gpu_origin_names[] = {
    [GPU_ORIGIN_NVML] = "nvml",
    [GPU_ORIGIN_GPM] = "gpm",
    [GPU_ORIGIN_COUNTERS] = "counters",
};

enum gpu_origin gpu_reading_origin(enum gpu_reading reading)
{
    return metric_table_readings[reading].origin;
}

void gpu_reading_name(enum gpu_reading reading, char *out, size_t size)
{
    snprintf(out, size, "%s", metric_table_readings[reading].id);
    for (; *out; out++)
        *out = *out == '_' ? '-' : (char)tolower((unsigned char)*out);
}

uint64_t gpu_metrics_of_set(enum gpu_set set)
{
    uint64_t bits = 0;

    for (size_t i = 0; i < GPU_METRICS_COUNT; i++)
        bits |= (uint64_t)(gpu_metrics[i].set <= set) << i;
    return bits;
}

uint64_t gpu_metrics_of_reading(const char *name)
{
    uint64_t bits = 0;
    char own[64];

    for (size_t i = 0; i < GPU_METRICS_COUNT; i++) {
        gpu_reading_name(gpu_metrics[i].reading, own, sizeof own);
        bits |= (uint64_t)(strcmp(own, name) == 0) << i;
    }
    return bits;
}

uint64_t gpu_metrics_of_origin(enum gpu_origin origin)
{
    uint64_t bits = 0;

    for (size_t i = 0; i < GPU_METRICS_COUNT; i++)
        bits |= (uint64_t)(metric_table_readings[gpu_metrics[i].reading].origin == origin) << i;
    return bits;
}

void gpu_metrics_option(uint64_t metrics, char out[GPU_READINGS_OPTION_BYTES])
{
    int is_taken[GPU_READINGS] = { 0 };
    size_t at = (size_t)snprintf(out, GPU_READINGS_OPTION_BYTES, "readings=");
    const char *before = "";

    for (size_t i = 0; i < GPU_METRICS_COUNT; i++) {
        enum gpu_reading reading = gpu_metrics[i].reading;
        if (!(metrics >> i & 1) || is_taken[reading])
            continue;
        is_taken[reading] = 1;
        at += (size_t)snprintf(out + at, GPU_READINGS_OPTION_BYTES - at, "%s%u", before, (unsigned)reading);
        before = ",";
    }
}
