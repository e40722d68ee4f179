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
#include "gpu/counters/counters_frames.h"
#include "gpu/counters/counters_library.h"
#include "gpu/frames/frames_out.h"
#include "gpu_mode.h"

/* The counters of the list, each once, up to one entry. The caller frees them. */
static const char **counters_of(const struct counters_list *list, size_t *count)
{
    const char **names = calloc(list->count + 1, sizeof *names);

    *count = 0;
    for (size_t i = 0; names && i < list->count; i++) {
        size_t k = 0;
        while (k < *count && strcmp(names[k], list->entries[i].counter) != 0)
            k++;
        if (k == *count && *list->entries[i].counter)
            names[(*count)++] = list->entries[i].counter;
    }
    return names;
}

/* A host takes one configuration, so each attempt has a host of its own. */
static int configure(const struct counters_host *like, const char **names, size_t count, struct counters_config *config)
{
    struct counters_host host;
    int result = counters_host_open(&host, like->chip, like->profiler);

    *config = (struct counters_config){ 0 };
    if (result == CUPTI_RESULT_SUCCESS)
        result = counters_host_config(&host, names, count, config);
    counters_host_close(&host);
    return result;
}

/* Every metric that needs this counter. */
static void drop(struct counters_list *list, const char *counter, const char *why)
{
    char name[COUNTER_NAME_BYTES];

    snprintf(name, sizeof name, "%s", counter);
    for (size_t i = 0; i < list->count; i++)
        if (strcmp(list->entries[i].counter, name) == 0)
            counters_list_miss(list, list->entries[i].name, why);
}

/* Counters of the whole GPU do not go with others: leaves them out if there are both. Returns how many are left. */
static size_t keep_kernels(struct counters_list *list, const char **names, size_t count)
{
    const char *why;
    size_t kept = 0, others = 0;

    for (size_t i = 0; i < count; i++)
        others += counter_kind_of(names[i], NULL) != COUNTER_DEVICE;
    for (size_t i = 0; i < count; i++)
        if (others && counter_kind_of(names[i], &why) == COUNTER_DEVICE)
            drop(list, names[i], why);
        else
            names[kept++] = names[i];
    return kept;
}

/* Leaves out those that CUPTI does not even count alone. */
static size_t keep_possible(struct counters_list *list, const char **names, size_t count)
{
    struct counters_config config;
    size_t kept = 0;

    for (size_t i = 0; i < count; i++) {
        if (configure(list->host, &names[i], 1, &config) == CUPTI_RESULT_SUCCESS)
            names[kept++] = names[i];
        else
            drop(list, names[i], "CUPTI lists this metric and does not count it.");
        free(config.image);
    }
    return kept;
}

/* Leaves out, from the front, each counter with which those before it no longer fit into one pass. */
static size_t keep_one_pass(struct counters_list *list, const char **names, size_t count)
{
    struct counters_config config;
    size_t kept = 0;

    for (size_t i = 0; i < count; i++) {
        names[kept++] = names[i];
        if (configure(list->host, names, kept, &config) != CUPTI_RESULT_SUCCESS || config.passes > 1) {
            drop(list, names[--kept], "It needs a second pass beside the metrics before it.");
        }
        free(config.image);
    }
    return kept;
}

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
        frames_add_refusal(GPU_ORIGIN_COUNTERS, GPU_ALL, "These metrics cannot be counted together on %s.", host->chip);
    else
        frames_add_refusal(GPU_ORIGIN_COUNTERS, GPU_ALL, "CUPTI makes no configuration for %s: %s", host->chip,
                           counters_result_text(result));
    return GPU_MODE_REFUSED;
}

/* Leaves out what does not go with the rest, step by step, until CUPTI takes it. Returns its result. */
static int configure_rest(struct counters_list *list, const char **names, size_t *count, int is_single,
                          struct counters_config *config)
{
    static size_t (*const steps[])(struct counters_list *list, const char **names, size_t count) = {
        keep_kernels,
        keep_possible,
        keep_one_pass,
    };
    int result = *count ? configure(list->host, names, *count, config) : CUPTI_RESULT_SUCCESS;

    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        int is_last = steps[i] == keep_one_pass;
        if (is_last ? !is_single || (result == CUPTI_RESULT_SUCCESS && config->passes <= 1)
                    : result != CUPTI_RESULT_ERROR_NOT_SUPPORTED)
            continue;
        free(config->image);
        *config = (struct counters_config){ 0 };
        *count = steps[i](list, names, *count);
        result = *count ? configure(list->host, names, *count, config) : CUPTI_RESULT_SUCCESS;
    }
    return result;
}

static int send_config(struct counters_list *list, const char *path, int is_single)
{
    struct counters_config config = { 0 };
    size_t count;
    const char **names = counters_of(list, &count);
    int result = names && !list->is_short ? configure_rest(list, names, &count, is_single, &config)
                                          : CUPTI_RESULT_ERROR_OUT_OF_MEMORY;

    for (size_t i = 0; result == CUPTI_RESULT_SUCCESS && i < list->count; i++)
        if (list->entries[i].kind != COUNTER_NONE)
            counters_send_metric(&list->entries[i]);
    struct gpu_config frame = { config.passes, config.bytes, (uint32_t)count, list->host->profiler };
    int status = 0;
    if (result != CUPTI_RESULT_SUCCESS)
        status = refuse(list->host, result);
    else if (path && save(path, &config)) {
        frames_add_refusal(GPU_ORIGIN_COUNTERS, GPU_ALL, "Cannot write %s: %s", path, strerror(errno));
        status = GPU_MODE_REFUSED;
    } else
        frames_add(GPU_FRAME_CONFIG, &frame, sizeof frame);
    free(names);
    free(config.image);
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
