#include "counters_frames.h"

#include <string.h>

#include "abi/counters/counter_sections.h"
#include "abi/cupti.h"
#include "base/text.h"
#include "counters_library.h"
#include "gpu/frames/frames_out.h"

void counters_send_metric(const struct counters_entry *entry)
{
    struct gpu_frame_metric head = { entry->kind, entry->properties.type, entry->factor };
    const char *texts[GPU_METRIC_TEXTS] = {
        [GPU_METRIC_NAME] = entry->name,
        [GPU_METRIC_COUNTER] = entry->counter,
        [GPU_METRIC_UNIT] = entry->properties.unit,
        [GPU_METRIC_HARDWARE] = entry->properties.hardware,
        [GPU_METRIC_LABEL] = entry->label ? entry->label : "",
        [GPU_METRIC_SECTION] = entry->section ? entry->section : "",
    };
    struct text frame = { 0 };

    text_add_bytes(&frame, &head, sizeof head);
    for (size_t i = 0; i < GPU_METRIC_TEXTS; i++)
        text_add_bytes(&frame, texts[i], strlen(texts[i]) + 1);
    if (!text_failed(&frame))
        frames_add(GPU_FRAME_METRIC, frame.bytes, frame.length);
    text_free(&frame);
}

void counters_send_chip(const char *name)
{
    struct gpu_chip head = { .capability = (uint32_t)counter_chip_capability(name) };
    struct text frame = { 0 };

    text_add_bytes(&frame, &head, sizeof head);
    text_add_bytes(&frame, name, strlen(name) + 1);
    if (!text_failed(&frame))
        frames_add(GPU_FRAME_CHIP, frame.bytes, frame.length);
    text_free(&frame);
}

int counters_begin(struct counters_host *host, const char *chip, unsigned device, const char *profiler)
{
    int is_sampling = profiler && strcmp(profiler, "sampling") == 0;
    struct refusal failure;
    const char *why;

    *host = (struct counters_host){ 0 };
    if (counters_load(&failure)) {
        frames_refuse(GPU_ORIGIN_COUNTERS, GPU_ALL, &failure);
        return -1;
    }
    if (!chip && !(chip = counters_chip_of(device, &why))) {
        frames_add_refusal(GPU_ORIGIN_COUNTERS, device, why ? GPU_REFUSAL_CHIP_UNKNOWN : GPU_REFUSAL_DEVICE_UNKNOWN,
                           why, NULL);
        return -1;
    }
    int result = counters_host_open(host, chip, is_sampling ? CUPTI_PROFILER_SAMPLING : CUPTI_PROFILER_RANGE, NULL);
    if (result == CUPTI_RESULT_SUCCESS)
        return 0;
    if (result == CUPTI_RESULT_ERROR_NOT_SUPPORTED || result == CUPTI_RESULT_ERROR_INVALID_PARAMETER)
        frames_add_refusal(GPU_ORIGIN_COUNTERS, GPU_ALL, GPU_REFUSAL_CHIP_UNSUPPORTED,
                           is_sampling ? "samples over time" : "the counters", chip);
    else
        frames_add_refusal(GPU_ORIGIN_COUNTERS, GPU_ALL, GPU_REFUSAL_METRICS_REFUSED, chip,
                           counters_result_text(result));
    return -1;
}
