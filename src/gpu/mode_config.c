/* Sets, sections and metrics as counters of a chip: a frame for each metric that will be counted and for each that
 * cannot be, then the number of passes.
 *
 * Options: chip=NAME or device=N; profiler=range|sampling; sets=LIST, sections=LIST, metrics=LIST; file=PATH: where the
 * config image goes; single=1: metrics that would need a second pass are left out, and said. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "abi/cupti.h"
#include "gpu/counters/counters_choice.h"
#include "gpu/counters/counters_frames.h"
#include "gpu/counters/counters_library.h"
#include "gpu/frames/frames_out.h"
#include "gpu_mode.h"

static int save(const char *path, const struct counters_config *config)
{
    int file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    size_t done = 0;

    while (file >= 0 && done < config->bytes) {
        ssize_t wrote = write(file, config->image + done, config->bytes - done);
        if (wrote < 0 && errno != EINTR)
            break;
        done += wrote > 0 ? (size_t)wrote : 0;
    }
    return file >= 0 && close(file) == 0 && done == config->bytes ? 0 : -1;
}

static int refuse(const struct counters_host *host, int result)
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
        status = refuse(list->host, result);
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

    if (counters_begin(&host, gpu_option(options, "chip"), (unsigned)gpu_option_number(options, "device", 0),
                       gpu_option(options, "profiler")))
        return GPU_MODE_REFUSED;
    struct counters_list list = { .host = &host };
    counters_list_add_sets(&list, gpu_option(options, "sets"));
    counters_list_add_sections(&list, gpu_option(options, "sections"));
    counters_list_add_metrics(&list, gpu_option(options, "metrics"));
    int status = send_config(&list, gpu_option(options, "file"), gpu_option_number(options, "single", 0) != 0);
    counters_list_free(&list);
    counters_host_close(&host);
    return status;
}
