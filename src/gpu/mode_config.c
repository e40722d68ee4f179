/* Sets, sections and metrics as counters of a chip: a frame for each metric that will be counted and for each that
 * cannot be, then the number of passes.
 *
 * Options: chip=NAME, or device=N of visible=LIST in this order (the variables of CUDA, as the program will have them);
 * profiler=range|sampling; sets=LIST, sections=LIST, metrics=LIST; file=PATH: where the config image goes; single=1:
 * metrics that would need a second pass are left out, and said. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "abi/cupti.h"
#include "base/text.h"
#include "gpu/counters/counters_choice.h"
#include "gpu/counters/counters_frames.h"
#include "gpu/counters/counters_library.h"
#include "gpu/frames/frames_out.h"
#include "gpu_mode.h"

static int save(const char *path, const struct counters_config *config)
{
    struct text image = { 0 };

    text_add_bytes(&image, config->image, config->bytes);
    int failed = text_write_file(&image, path);
    text_free(&image);
    return failed;
}

/* Which GPU is number N depends on the environment of the program. */
static void use_variable(const char *name, const char *value)
{
    if (value && strcmp(value, GPU_VISIBLE_ALL) == 0)
        unsetenv(name);
    else if (value)
        setenv(name, value, 1);
}

static int mode_config_refuse(const struct counters_host *host, int result)
{
    if (result == CUPTI_RESULT_ERROR_NOT_SUPPORTED)
        frames_add_refusal(GPU_ORIGIN_COUNTERS, GPU_ALL, GPU_REFUSAL_METRICS_APART, host->chip, NULL);
    else
        frames_add_refusal(GPU_ORIGIN_COUNTERS, GPU_ALL, GPU_REFUSAL_CONFIG_REFUSED, host->chip,
                           counters_result_text(result));
    return GPU_MODE_REFUSED;
}

static int send_config(struct counters_list *list, const char *path, int is_single)
{
    struct counters_choice choice;
    int result = counters_choose(list, is_single, &choice);
    const struct counters_config *config = &choice.config;

    for (size_t i = 0; result == CUPTI_RESULT_SUCCESS && i < list->count; i++)
        if (list->entries[i].kind != COUNTER_NONE)
            counters_send_metric(&list->entries[i]);
    struct gpu_config frame = { config->passes, config->bytes, (uint32_t)choice.count, list->host->profiler, "" };
    snprintf(frame.chip, sizeof frame.chip, "%s", list->host->chip);
    int status = 0;
    if (result != CUPTI_RESULT_SUCCESS)
        status = mode_config_refuse(list->host, result);
    else if (path && save(path, config)) {
        frames_add_refusal(GPU_ORIGIN_COUNTERS, GPU_ALL, GPU_REFUSAL_FILE_UNWRITABLE, path, strerror(errno));
        status = GPU_MODE_REFUSED;
    } else
        frames_add(GPU_FRAME_CONFIG, &frame, sizeof frame);
    counters_choice_free(&choice);
    return status;
}

int gpu_mode_config(char **options)
{
    struct counters_host host;

    use_variable("CUDA_VISIBLE_DEVICES", gpu_option(options, "visible"));
    use_variable("CUDA_DEVICE_ORDER", gpu_option(options, "order"));
    if (counters_begin(&host, gpu_option(options, "chip"), (unsigned)gpu_option_number(options, "device", 0),
                       gpu_option(options, "profiler")))
        return GPU_MODE_REFUSED;
    counters_send_chip(host.chip);
    struct counters_list list = { .host = &host };
    counters_list_add_sets(&list, gpu_option(options, "sets"));
    counters_list_add_sections(&list, gpu_option(options, "sections"));
    counters_list_add_metrics(&list, gpu_option(options, "metrics"));
    int status = send_config(&list, gpu_option(options, "file"), gpu_option_number(options, "single", 0) != 0);
    counters_list_free(&list);
    counters_host_close(&host);
    return status;
}
