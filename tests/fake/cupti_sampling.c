/* The stand-in's PM sampling: a GPU with a sample at each interval since Start, whose every counter is the number of
 * the sample. Sizes and members are from the vendor's headers, not from ours.
 *
 * FAKE_SAMPLING, words with commas between them: refuse=N (Enable answers N), overflow=N (the GPU's buffer is full
 * once, after N samples), die (the process ends in the second decode), hang (that decode never returns), scale=X (a
 * counter is the number of the sample times X), wrap=N (numbers are modulo N), late=MS (Enable takes so long),
 * absent=NAME (cupti_profiler.c). A second session is refused, and so is an order of calls that CUPTI would not take.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cupti.h"

#if FAKE_CUPTI >= 1206

enum { INVALID_OPERATION = 7, SAMPLES = 4096, LINE = 160 };
enum { STOP_FULL = 1, STOP_END = 2 };

#define EXPORT __attribute__((visibility("default")))
#define CALL(name, type, bytes)                                                                                        \
    EXPORT int name(struct type *params);                                                                              \
    EXPORT int name(struct type *params)                                                                               \
    {                                                                                                                  \
        if (!params || params->size != (size_t)(bytes))                                                                \
            return INVALID_PARAMETER;                                                                                  \
        return do_##name(params);                                                                                      \
    }

static struct gpu {
    int is_enabled, is_configured, is_running;
    uint64_t interval, start_ns, stop_ns;
    uint64_t at;        /* the next sample to be decoded */
    uint64_t most;      /* samples of a counter data image */
    const char *config; /* the caller's: CUPTI keeps the pointer */
    uint64_t times[SAMPLES][2];
    int decodes, has_overflown;
} gpu;

static uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now); /* the clock that the caller has registered */
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static const char *word(const char *name)
{
    const char *words = getenv("FAKE_SAMPLING");
    const char *found = words ? strstr(words, name) : NULL;
    return found ? found + strlen(name) : NULL;
}

struct of_device {
    size_t size;
    void *priv;
    size_t device;
    struct gpu *sampling;
};
static int do_cuptiPmSamplingEnable(struct of_device *params)
{
    const char *refusal = word("refuse="), *late = word("late=");
    if (late)
        usleep((useconds_t)atoi(late) * 1000);
    if (refusal)
        return atoi(refusal);
    if (params->device || gpu.is_enabled)
        return params->device ? INVALID_PARAMETER : INVALID_OPERATION;
    gpu.is_enabled = 1;
    params->sampling = &gpu;
    return OK;
}
CALL(cuptiPmSamplingEnable, of_device, 32)

struct of_sampling {
    size_t size;
    void *priv;
    struct gpu *sampling;
};
static int do_cuptiPmSamplingDisable(struct of_sampling *params)
{
    if (params->sampling != &gpu || !gpu.is_enabled)
        return INVALID_OPERATION;
    gpu = (struct gpu){ .decodes = gpu.decodes, .has_overflown = gpu.has_overflown };
    return OK;
}
CALL(cuptiPmSamplingDisable, of_sampling, 24)

struct set_config {
    size_t size;
    void *priv;
    struct gpu *sampling;
    size_t config_bytes;
    const char *config;
    size_t buffer_bytes;
    uint64_t interval;
    int trigger, append;
};
static int do_cuptiPmSamplingSetConfig(struct set_config *params)
{
    if (!gpu.is_enabled || gpu.is_running || !params->interval || params->trigger != 1 || atoi(params->config) != 1)
        return INVALID_OPERATION;
    gpu.is_configured = 1;
    gpu.interval = params->interval;
    gpu.config = params->config;
    return OK;
}
CALL(cuptiPmSamplingSetConfig, set_config, FAKE_CUPTI >= 1208 ? 64 : 60)

/* Into the log of NVML's calls, for programs that wait for it. */
static void note_start(void)
{
    const char *path = getenv("FAKE_NVML_LOG");
    FILE *log = path ? fopen(path, "a") : NULL;
    if (!log)
        return;
    fprintf(log, "PmSamplingStart 0 %llu\n", (unsigned long long)gpu.start_ns);
    fclose(log);
}

static int do_cuptiPmSamplingStart(struct of_sampling *params)
{
    if (!gpu.is_configured || gpu.is_running)
        return INVALID_OPERATION;
    gpu.is_running = 1;
    gpu.start_ns = now_ns();
    gpu.at = 0;
    note_start();
    (void)params;
    return OK;
}
CALL(cuptiPmSamplingStart, of_sampling, 24)

static int do_cuptiPmSamplingStop(struct of_sampling *params)
{
    if (!gpu.is_running)
        return INVALID_OPERATION;
    gpu.is_running = 0;
    gpu.stop_ns = now_ns();
    (void)params;
    return OK;
}
CALL(cuptiPmSamplingStop, of_sampling, 24)

struct availability {
    size_t size;
    void *priv;
    size_t device, bytes;
    uint8_t *image;
};
static int do_cuptiPmSamplingGetCounterAvailability(struct availability *params)
{
    if (params->device)
        return INVALID_PARAMETER;
    if (params->image)
        memset(params->image, 1, params->bytes);
    params->bytes = 16;
    return OK;
}
CALL(cuptiPmSamplingGetCounterAvailability, availability, 40)

struct data_size {
    size_t size;
    void *priv;
    struct gpu *sampling;
    const char **names;
    size_t count;
    uint32_t samples;
    size_t bytes;
};
static int do_cuptiPmSamplingGetCounterDataSize(struct data_size *params)
{
    gpu.most = params->samples < SAMPLES ? params->samples : SAMPLES;
    params->bytes = gpu.most * params->count * LINE + 1;
    return OK;
}
CALL(cuptiPmSamplingGetCounterDataSize, data_size, 56)

struct data_initialize {
    size_t size;
    void *priv;
    struct gpu *sampling;
    size_t bytes;
    char *data;
};
static int do_cuptiPmSamplingCounterDataImageInitialize(struct data_initialize *params)
{
    params->data[0] = 0;
    return OK;
}
CALL(cuptiPmSamplingCounterDataImageInitialize, data_initialize, 40)

/* The metrics of the config image, each with the number of the sample, scaled. */
static size_t write_sample(char *to, size_t sample, uint64_t number)
{
    const char *scale = word("scale="), *wrap = word("wrap=");
    double value = (double)(wrap ? number % strtoull(wrap, NULL, 10) : number) * (scale ? atof(scale) : 1);
    size_t used = 0;
    for (const char *line = strchr(gpu.config, '\n') + 1; *line; line = strchr(line, '\n') + 1)
        used += (size_t)sprintf(to + used, "%zu %.*s %.17g\n", sample, (int)(strchr(line, '\n') - line), line, value);
    return used;
}

struct decode {
    size_t size;
    void *priv;
    struct gpu *sampling;
    char *data;
    size_t bytes;
    int reason;
    uint8_t overflow;
};
static int do_cuptiPmSamplingDecodeData(struct decode *params)
{
    uint64_t end_ns = gpu.is_running ? now_ns() : gpu.stop_ns;
    const char *overflow = word("overflow=");
    size_t held = 0, used = 0;

    if (!gpu.is_enabled || params->data[0])
        return INVALID_OPERATION;
    if (++gpu.decodes == 2 && word("die"))
        _exit(9);
    while (gpu.decodes >= 2 && word("hang"))
        pause();
    for (; held < gpu.most && gpu.start_ns + (gpu.at + 1) * gpu.interval <= end_ns; held++, gpu.at++) {
        gpu.times[held][0] = gpu.start_ns + gpu.at * gpu.interval;
        gpu.times[held][1] = gpu.times[held][0] + gpu.interval;
        used += write_sample(params->data + used, held, gpu.at);
    }
    params->reason = held == gpu.most ? STOP_FULL : STOP_END;
    params->overflow = overflow && !gpu.has_overflown && gpu.at >= (uint64_t)atoi(overflow);
    gpu.has_overflown |= params->overflow;
    return OK;
}
CALL(cuptiPmSamplingDecodeData, decode, 45)

struct data_info {
    size_t size;
    void *priv;
    const char *data;
    size_t bytes, total, populated, completed;
};
static int do_cuptiPmSamplingGetCounterDataInfo(struct data_info *params)
{
    size_t samples = 0;
    for (const char *line = params->data; *line; line = strchr(line, '\n') + 1)
        samples = (size_t)atoi(line) + 1;
    params->total = gpu.most;
    params->populated = params->completed = samples;
    return OK;
}
CALL(cuptiPmSamplingGetCounterDataInfo, data_info, 56)

struct sample_info {
    size_t size;
    void *priv;
    struct gpu *sampling;
    const char *data;
    size_t bytes, sample;
    uint64_t start_ns, end_ns;
};
static int do_cuptiPmSamplingCounterDataGetSampleInfo(struct sample_info *params)
{
    params->start_ns = gpu.times[params->sample][0];
    params->end_ns = gpu.times[params->sample][1];
    return OK;
}
CALL(cuptiPmSamplingCounterDataGetSampleInfo, sample_info, 64)

#endif
