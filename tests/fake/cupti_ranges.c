/* The stand-in's range profiler: while it is on, each launch of a kernel is a range. The counters of the kernel that is
 * the N-th of the process to be counted, from 0, are 1000 * (N + 1), plus 1 for the second metric, 2 for the third and
 * so on. Sizes and members are from the vendor's headers, not from ours.
 *
 * FAKE_RANGES, words with commas between them: refuse=N (Enable answers N), start=N (Start does), decode=N (DecodeData
 * does), config=N (the second SetConfig does), lose (a range of each image is missing). As CUPTI 13.0 may, it crashes
 * in a graph that is launched while it is enabled. Until it is disabled, or gets another one, it writes into its image.
 * An order of calls that CUPTI would not take is refused. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cupti.h"

#if FAKE_CUPTI >= 1206

enum { INVALID_OPERATION = 7, RANGES = 1024, METRIC = 96 };

#define EXPORT __attribute__((visibility("default")))
#define CALL(name, type, bytes)                                                                                        \
    EXPORT int name(struct type *params);                                                                              \
    EXPORT int name(struct type *params)                                                                               \
    {                                                                                                                  \
        if (!params || params->size != (size_t)(bytes))                                                                \
            return INVALID_PARAMETER;                                                                                  \
        return do_##name(params);                                                                                      \
    }

static struct profiler {
    void *context;
    int is_configured, is_on, is_decoded;
    const char *config; /* the caller's: CUPTI keeps the pointers */
    size_t config_bytes;
    char *data;
    size_t data_bytes, most;
    size_t count; /* ranges since the configuration */
    long first;   /* the number of the first */
} profiler;
static long counted;

static const char *word(const char *name)
{
    const char *words = getenv("FAKE_RANGES");
    const char *found = words ? strstr(words, name) : NULL;
    return found ? found + strlen(name) : NULL;
}

void ranges_call(const struct fake_call *call)
{
    if (profiler.context && strncmp(call->function, "cuGraphLaunch", 13) == 0)
        abort();
    if (!profiler.is_on || call->result || call->context != profiler.context)
        return;
    if (call->symbol && profiler.count < profiler.most) {
        profiler.count++;
        counted++;
    }
}

struct enable {
    size_t size;
    void *priv, *context;
    struct profiler *profiler;
};
static int do_cuptiRangeProfilerEnable(struct enable *params)
{
    if (word("refuse="))
        return atoi(word("refuse="));
    if (profiler.context)
        return INVALID_OPERATION;
    profiler = (struct profiler){ .context = params->context };
    params->profiler = &profiler;
    return OK;
}
CALL(cuptiRangeProfilerEnable, enable, FAKE_CUPTI >= 1304 ? 36 : 32)

struct of_profiler {
    size_t size;
    void *priv;
    struct profiler *profiler;
};
static int do_cuptiRangeProfilerDisable(struct of_profiler *params)
{
    if (params->profiler != &profiler || profiler.is_on)
        return INVALID_OPERATION;
    fake_add("disables", 1);
    usleep((useconds_t)fake_get("disable_ms") * 1000);
    if (profiler.is_configured)
        *(volatile char *)profiler.data = *profiler.data;
    profiler.context = NULL;
    return OK;
}
CALL(cuptiRangeProfilerDisable, of_profiler, 24)

struct data_size {
    size_t size;
    void *priv;
    struct profiler *profiler;
    const char **names;
    size_t count, ranges;
    uint32_t nodes;
    size_t bytes;
};
static int do_cuptiRangeProfilerGetCounterDataSize(struct data_size *params)
{
    params->bytes = params->count * params->ranges * METRIC;
    return params->count && params->ranges && params->nodes >= params->ranges ? OK : INVALID_PARAMETER;
}
CALL(cuptiRangeProfilerGetCounterDataSize, data_size, 64)

struct data_initialize {
    size_t size;
    void *priv;
    struct profiler *profiler;
    size_t bytes;
    char *data;
};
static int do_cuptiRangeProfilerCounterDataImageInitialize(struct data_initialize *params)
{
    memset(params->data, 0, params->bytes);
    return OK;
}
CALL(cuptiRangeProfilerCounterDataImageInitialize, data_initialize, 40)

struct configuration {
    size_t size;
    void *priv;
    struct profiler *profiler;
    size_t config_bytes;
    const char *config;
    size_t data_bytes;
    char *data;
    int range, replay;
    size_t ranges;
};
static int do_cuptiRangeProfilerSetConfig(struct configuration *params)
{
    int passes = params->config ? atoi(params->config) : 0;
    if (profiler.is_on || params->range != 1 || passes < 1 || (params->replay == 1 && passes > 1) ||
        params->ranges > RANGES)
        return INVALID_PARAMETER;
    if (profiler.is_configured && word("config="))
        return atoi(word("config="));
    profiler.is_configured = 1;
    profiler.is_decoded = 0;
    profiler.config = params->config;
    profiler.config_bytes = params->config_bytes;
    profiler.data = params->data;
    profiler.data_bytes = params->data_bytes;
    profiler.most = params->ranges;
    profiler.count = 0;
    profiler.first = counted;
    return OK;
}
CALL(cuptiRangeProfilerSetConfig, configuration, 90)

static int do_cuptiRangeProfilerStart(struct of_profiler *params)
{
    if (word("start="))
        return atoi(word("start="));
    if (params->profiler != &profiler || !profiler.is_configured || profiler.is_on || profiler.is_decoded)
        return INVALID_OPERATION;
    profiler.is_on = 1;
    return OK;
}
CALL(cuptiRangeProfilerStart, of_profiler, 24)

static int do_cuptiRangeProfilerStop(struct of_profiler *params)
{
    if (params->profiler != &profiler || !profiler.is_on)
        return INVALID_OPERATION;
    profiler.is_on = 0;
    return OK;
}
CALL(cuptiRangeProfilerStop, of_profiler, 41)

/* The config image: the passes, then the metrics, line by line. */
struct decode {
    size_t size;
    void *priv;
    struct profiler *profiler;
    size_t dropped;
};
static int do_cuptiRangeProfilerDecodeData(struct decode *params)
{
    size_t used = 0, ranges = profiler.count - (word("lose") && profiler.count ? 1 : 0);
    if (params->profiler != &profiler || profiler.is_on || profiler.is_decoded)
        return INVALID_OPERATION;
    profiler.is_decoded = 1;
    if (word("decode="))
        return atoi(word("decode="));
    for (size_t range = 0; range < ranges; range++) {
        const char *at = memchr(profiler.config, '\n', profiler.config_bytes),
                   *end = profiler.config + profiler.config_bytes;
        for (int metric = 0; at && at + 1 < end && at[1]; metric++) {
            const char *stop = memchr(at + 1, '\n', (size_t)(end - at - 1));
            int length = (int)((stop ? stop : end) - at - 1);
            used += (size_t)snprintf(profiler.data + used, profiler.data_bytes - used, "%zu %.*s %ld\n", range, length,
                                     at + 1, 1000 * (profiler.first + (long)range + 1) + metric);
            at = stop;
        }
    }
    params->dropped = 0;
    return OK;
}
CALL(cuptiRangeProfilerDecodeData, decode, 32)

#else

void ranges_call(const struct fake_call *call)
{
    (void)call;
}

#endif
