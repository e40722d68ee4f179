/* Tries each source of GPU data once, for `tacho doctor`: a frame for each source of each GPU, sent at once, so that a
 * library that crashes leaves the trials before it. Counters are enabled and disabled again; nothing is sampled. */
#include <math.h>
#include <string.h>

#include "abi/cupti.h"
#include "base/array.h"
#include "base/clock.h"
#include "gpu/counters/counters_library.h"
#include "gpu/counters/counters_refusal.h"
#include "gpu/frames/frames_out.h"
#include "gpu/nvml/nvml_gpm.h"
#include "gpu/nvml/nvml_library.h"
#include "gpu/nvml/nvml_readings.h"
#include "gpu_mode.h"

enum { GPM_INTERVAL_NS = 100000000 };

static void mode_try_tell(uint32_t device, enum gpu_trial_source source, const struct refusal *why)
{
    frames_add_trial(device, source, why);
    frames_send();
}

/* ---- NVML and GPM ----------------------------------------------------------------------------------------------- */

/* One of these is enough: a GPU may lack any. */
static void try_readings(const struct nvml_gpu *gpu)
{
    static const enum gpu_reading readings[] = { GPU_READING_POWER, GPU_READING_CLOCK_SM, GPU_READING_TEMPERATURE,
                                                 GPU_READING_MEMORY_USED };
    struct refusal why = { .id = GPU_REFUSAL_NONE };
    uint32_t result = NVML_SUCCESS;
    double value;

    for (size_t i = 0; i < COUNT_OF(readings); i++)
        if ((result = nvml_read(gpu, readings[i], &value)) == NVML_SUCCESS)
            break;
    if (result != NVML_SUCCESS)
        refusal_set(&why, GPU_REFUSAL_GPU_UNREADABLE, nvml_result_text(result), NULL);
    mode_try_tell(gpu->facts.device, GPU_TRIAL_NVML, &why);
}

/* GPM compares two samples: all GPUs take their first one before any takes the second. */
static void try_gpm(const struct nvml_gpus *gpus)
{
    struct nvml_gpm *gpm[NVML_DEVICES_MOST];
    struct gpu_value value = { GPU_READING_GPM_SM, NVML_NOT_SUPPORTED, NAN };

    for (uint32_t i = 0; i < gpus->count; i++)
        if ((gpm[i] = nvml_gpm_new(&gpus->gpus[i], GPU_ALL)))
            nvml_gpm_read(gpm[i], &value, 1);
    frames_wait_until(clock_monotonic_ns() + GPM_INTERVAL_NS);
    for (uint32_t i = 0; i < gpus->count; i++) {
        struct refusal why = { .id = GPU_REFUSAL_NONE };
        value = (struct gpu_value){ GPU_READING_GPM_SM, NVML_NOT_SUPPORTED, NAN };
        if (gpm[i])
            nvml_gpm_read(gpm[i], &value, 1);
        if (!gpm[i])
            refusal_set(&why, GPU_REFUSAL_GPM_MISSING, gpus->gpus[i].facts.name, NULL);
        else if (isnan(value.value))
            refusal_set(&why, GPU_REFUSAL_GPM_UNREADABLE, nvml_result_text(value.result), NULL);
        nvml_gpm_free(gpm[i]);
        mode_try_tell(gpus->gpus[i].facts.device, GPU_TRIAL_GPM, &why);
    }
}

/* ---- Counters --------------------------------------------------------------------------------------------------- */

#define TRY(call, ...) cupti_profiler_call(&counters_cupti, CUPTI_CALL_##call, &(struct cupti_##call){ __VA_ARGS__ })

static void try_sampling(uint32_t device)
{
    struct refusal why = { .id = GPU_REFUSAL_NONE };
    struct cupti_sampling_enable enable = { .device = device };
    const char *call = "cuptiDeviceGetChipName", *sentence = "", *chip = counters_chip_of(device, &sentence);

    if (!chip)
        refusal_set(&why, GPU_REFUSAL_SAMPLING_REFUSED, call, sentence);
    else if (counters_is_volta(chip))
        refusal_set(&why, GPU_REFUSAL_SAMPLING_VOLTA, chip, NULL);
    else {
        call = "cuptiPmSamplingGetCounterAvailability";
        int result = TRY(sampling_availability, .device = device);
        if (!result) {
            call = "cuptiPmSamplingEnable";
            result = cupti_profiler_call(&counters_cupti, CUPTI_CALL_sampling_enable, &enable);
        }
        if (result)
            counters_refusal(&why, call, result);
        else
            TRY(sampling_disable, .sampling = enable.sampling);
    }
    mode_try_tell(device, GPU_TRIAL_SAMPLING, &why);
}

/* Why CUPTI does not count kernels of this GPU: the first of its configuration that forbids it. */
static void explain_ranges(const struct cupti_device_supported *answer, struct refusal *why)
{
    const struct {
        uint32_t level;
        enum gpu_refusal_id id;
        const char *text;
    } rows[] = {
        { answer->vgpu, GPU_REFUSAL_COUNTERS_VIRTUAL, NULL },
        { answer->confidential, GPU_REFUSAL_COUNTERS_CONFIDENTIAL, NULL },
        { answer->architecture, GPU_REFUSAL_RANGES_REFUSED, "its architecture is older than Volta." },
        { answer->sli, GPU_REFUSAL_RANGES_REFUSED, "it is joined with others by SLI." },
        { answer->cmp, GPU_REFUSAL_RANGES_REFUSED, "it is a mining card." },
        { answer->wsl, GPU_REFUSAL_RANGES_REFUSED, "this WSL does not support it." },
    };

    refusal_set(why, GPU_REFUSAL_RANGES_REFUSED, "CUPTI does not support this GPU.", NULL);
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        if (rows[i].level == CUPTI_SUPPORT_NEVER || rows[i].level == CUPTI_SUPPORT_DISABLED) {
            refusal_set(why, rows[i].id, rows[i].text, NULL);
            return;
        }
}

static void try_ranges(uint32_t device)
{
    struct refusal why = { .id = GPU_REFUSAL_NONE };
    struct cupti_device_supported ask = { .device = (int32_t)device, .interface = CUPTI_INTERFACE_RANGES };
    const char *sentence = "";
    int has_chip = counters_chip_of(device, &sentence) != NULL; /* else CUPTI crashes */
    int result = has_chip ? cupti_profiler_call(&counters_cupti, CUPTI_CALL_device_supported, &ask) : 0;

    if (!has_chip)
        refusal_set(&why, GPU_REFUSAL_RANGES_REFUSED, sentence, NULL);
    else if (result)
        refusal_set(&why, GPU_REFUSAL_RANGES_REFUSED, counters_result_text(result), NULL);
    else if (ask.supported != CUPTI_SUPPORT_YES)
        explain_ranges(&ask, &why);
    mode_try_tell(device, GPU_TRIAL_RANGES, &why);
}

int gpu_mode_try(char **options)
{
    static struct nvml_gpus gpus;
    struct refusal why;

    counters_set_environment();
    if (nvml_load(&why) || nvml_devices_find(&gpus, NULL, &why)) {
        for (int source = 0; source < GPU_TRIALS; source++)
            mode_try_tell(GPU_ALL, (enum gpu_trial_source)source, &why);
        return GPU_MODE_REFUSED;
    }
    (void)options;
    nvml_devices_tell(&gpus);
    for (uint32_t i = 0; i < gpus.count; i++)
        try_readings(&gpus.gpus[i]);
    try_gpm(&gpus);
    int is_refused = counters_load(&why);
    if (is_refused) {
        mode_try_tell(GPU_ALL, GPU_TRIAL_SAMPLING, &why);
        mode_try_tell(GPU_ALL, GPU_TRIAL_RANGES, &why);
    }
    for (uint32_t i = 0; !is_refused && i < gpus.count; i++)
        try_sampling(gpus.gpus[i].facts.device);
    for (uint32_t i = 0; !is_refused && i < gpus.count; i++)
        try_ranges(gpus.gpus[i].facts.device);
    NVML(nvmlShutdown);
    return 0;
}
