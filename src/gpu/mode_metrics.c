/* A chip and its metrics: a frame each.
 *
 * Options: chip=NAME or device=N; profiler=range|sampling; mode=base|suffix|all; names=LIST for suffix. A base metric
 * comes without a suffix and with its unit as a sum. */
#include <stdio.h>
#include <string.h>

#include "gpu/counters/counters_frames.h"
#include "gpu/counters/counters_nearest.h"
#include "gpu/frames/frames_out.h"
#include "gpu/frames/word_list.h"
#include "gpu_mode.h"

static void send_name(const struct counters_host *host, const char *base, const char *suffix, const char *shown)
{
    struct counters_entry entry = { .factor = 1 };

    snprintf(entry.counter, sizeof entry.counter, "%s%s", base, suffix);
    snprintf(entry.name, sizeof entry.name, "%s%s", base, shown);
    if (counters_host_has(host, entry.counter, &entry.properties))
        counters_send_metric(&entry);
}

static void send_suffixes(const struct counters_host *host, const char *base, enum cupti_metric_type type)
{
    const char **suffixes = NULL;
    size_t count = counters_host_suffixes(host, type, base, &suffixes);

    for (size_t i = 0; i < count; i++)
        send_name(host, base, suffixes[i], suffixes[i]);
}

static int mode_metrics_is_listed(const char *names, const char *name)
{
    const char *word;
    size_t length;

    while (word_list_next(&names, &word, &length))
        if (length == strlen(name) && memcmp(word, name, length) == 0)
            return 1;
    return 0;
}

static void send_unknown(struct counters_list *list, const char *names)
{
    char name[COUNTER_NAME_BYTES], why[1024];
    const char *word;
    size_t length;

    while (word_list_next(&names, &word, &length)) {
        snprintf(name, sizeof name, "%.*s", (int)length, word);
        int is_known = 0;
        for (int type = 0; type < CUPTI_METRIC_TYPES; type++) {
            const struct counters_bases *bases = counters_host_bases(list->host, (enum cupti_metric_type)type);
            for (size_t i = 0; i < bases->count; i++)
                is_known |= strcmp(bases->names[i], name) == 0;
        }
        if (!is_known) {
            counters_nearest(list->host, name, why, sizeof why);
            counters_list_miss(list, name, why);
        }
    }
}

int gpu_mode_metrics(char **options)
{
    struct counters_host host;
    const char *mode = gpu_option(options, "mode"), *names = gpu_option(options, "names");
    int is_base = !mode || strcmp(mode, "base") == 0;

    if (counters_begin(&host, gpu_option(options, "chip"), (unsigned)gpu_option_number(options, "device", 0),
                       gpu_option(options, "profiler")))
        return GPU_MODE_REFUSED;
    counters_send_chip(host.chip);
    for (int type = 0; type < CUPTI_METRIC_TYPES; type++) {
        const struct counters_bases *bases = counters_host_bases(&host, (enum cupti_metric_type)type);
        for (size_t i = 0; i < bases->count; i++)
            if (names && !mode_metrics_is_listed(names, bases->names[i]))
                continue;
            else if (is_base)
                send_name(&host, bases->names[i], counters_host_some_suffix((enum cupti_metric_type)type), "");
            else
                send_suffixes(&host, bases->names[i], (enum cupti_metric_type)type);
    }
    struct counters_list unknown = { .host = &host };
    if (names)
        send_unknown(&unknown, names);
    counters_list_free(&unknown);
    counters_host_close(&host);
    return 0;
}
