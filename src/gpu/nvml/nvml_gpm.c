#include "nvml_gpm.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "nvml_library.h"

/* Rates come in MiB/s. */
#define MIB 1048576.0

static const struct {
    uint32_t number;
    const char *unit;
} metrics[GPU_READINGS] = {
#define GPM_READING(id, number, name, unit) [GPU_READING_##id] = { number, unit },
#include "wire/gpu_readings.def"
};

struct nvml_gpm {
    nvml_device device;
    uint32_t gpu_instance;          /* GPU_ALL: the whole GPU */
    nvml_gpm_sample samples[2];     /* the older, the newer */
    uint32_t taken;
    struct nvml_gpm_metrics *asked; /* with room for all metrics */
};

struct nvml_gpm *nvml_gpm_new(const struct nvml_gpu *gpu, uint32_t gpu_instance)
{
    struct nvml_gpm *gpm = gpu->facts.has_gpm ? calloc(1, sizeof *gpm) : NULL;

    if (!gpm)
        return NULL;
    gpm->device = gpu->handle;
    gpm->gpu_instance = gpu_instance;
    gpm->asked = calloc(1, sizeof *gpm->asked + GPU_READINGS * sizeof *gpm->asked->metrics);
    if (!gpm->asked || NVML(nvmlGpmSampleAlloc, &gpm->samples[0]) || NVML(nvmlGpmSampleAlloc, &gpm->samples[1])) {
        nvml_gpm_free(gpm);
        return NULL;
    }
    return gpm;
}

void nvml_gpm_free(struct nvml_gpm *gpm)
{
    if (!gpm)
        return;
    for (int i = 0; i < 2; i++)
        if (gpm->samples[i])
            NVML(nvmlGpmSampleFree, gpm->samples[i]);
    free(gpm->asked);
    free(gpm);
}

int nvml_gpm_has(enum gpu_reading reading)
{
    return metrics[reading].number != 0;
}

/* Makes room for a new sample: the newer becomes the older. */
static int nvml_gpm_take_sample(struct nvml_gpm *gpm)
{
    nvml_gpm_sample older = gpm->samples[0];

    gpm->samples[0] = gpm->samples[1];
    gpm->samples[1] = older;
    int result = gpm->gpu_instance == GPU_ALL
                     ? NVML(nvmlGpmSampleGet, gpm->device, gpm->samples[1])
                     : NVML(nvmlGpmMigSampleGet, gpm->device, gpm->gpu_instance, gpm->samples[1]);
    gpm->taken = result ? 0 : gpm->taken + 1;
    return result;
}

void nvml_gpm_read(struct nvml_gpm *gpm, struct gpu_value *values, uint32_t count)
{
    struct nvml_gpm_metrics *asked = gpm->asked;
    uint32_t at = 0;
    int result = nvml_gpm_take_sample(gpm);

    *asked = (struct nvml_gpm_metrics){ .version = NVML_GPM_V1, .before = gpm->samples[0], .after = gpm->samples[1] };
    for (uint32_t i = 0; i < count; i++)
        if (nvml_gpm_has(values[i].reading))
            asked->metrics[asked->count++] = (struct nvml_gpm_metric){ .metric = metrics[values[i].reading].number };
    if (result == NVML_SUCCESS)
        result = gpm->taken < 2 ? NVML_NOT_FOUND : NVML(nvmlGpmMetricsGet, asked);
    for (uint32_t i = 0; i < count; i++) {
        if (!nvml_gpm_has(values[i].reading))
            continue;
        const struct nvml_gpm_metric *metric = &asked->metrics[at++];
        double factor = strcmp(metrics[values[i].reading].unit, "B/s") == 0 ? MIB : 1;
        values[i].result = result ? (uint32_t)result : metric->result;
        values[i].value = values[i].result ? NAN : metric->value * factor;
    }
}
