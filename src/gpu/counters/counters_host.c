#include "counters_host.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "abi/counters/cupti_units.h"
#include "abi/cupti.h"
#include "counters_library.h"

static int counters_host_call(enum cupti_call_id id, void *arguments)
{
    return cupti_profiler_call(&counters_cupti, id, arguments);
}

int counters_host_open(struct counters_host *host, const char *chip, enum cupti_profiler_type profiler,
                       const uint8_t *availability)
{
    struct cupti_host_initialize open = { .profiler = profiler, .chip = chip, .availability = availability };
    int result = counters_host_call(CUPTI_CALL_host_initialize, &open);

    *host = (struct counters_host){ .profiler = profiler, .availability = availability };
    if (result == CUPTI_RESULT_SUCCESS) {
        host->object = open.host;
        snprintf(host->chip, sizeof host->chip, "%s", chip);
    }
    return result;
}

void counters_host_close(struct counters_host *host)
{
    struct cupti_host_deinitialize close = { .host = host->object };

    if (host->object)
        counters_host_call(CUPTI_CALL_host_deinitialize, &close);
    for (int type = 0; type < CUPTI_METRIC_TYPES; type++) {
        for (size_t i = 0; i < host->bases[type].count; i++)
            free(host->bases[type].names[i]);
        free(host->bases[type].names);
    }
    *host = (struct counters_host){ 0 };
}

/* CUPTI is asked once: asked again, 13.0 answers the list twice over, and it frees names of the answer before. */
static void read_bases(struct counters_host *host, enum cupti_metric_type type)
{
    struct cupti_host_base_metrics list = { .host = host->object, .type = type };
    struct counters_bases *bases = &host->bases[type];

    bases->is_read = 1;
    if (counters_host_call(CUPTI_CALL_host_base_metrics, &list) != CUPTI_RESULT_SUCCESS || !list.names)
        return;
    bases->names = calloc(list.count + 1, sizeof *bases->names);
    for (size_t i = 0; bases->names && i < list.count; i++)
        if ((bases->names[bases->count] = strdup(list.names[i])))
            bases->count++;
}

const struct counters_bases *counters_host_bases(struct counters_host *host, enum cupti_metric_type type)
{
    if (!host->bases[type].is_read)
        read_bases(host, type);
    return &host->bases[type];
}

const char *counters_host_some_suffix(enum cupti_metric_type type)
{
    static const char *const suffixes[CUPTI_METRIC_TYPES] = { ".sum", ".ratio", ".avg.pct_of_peak_sustained_elapsed" };
    return suffixes[type];
}

size_t counters_host_suffixes(const struct counters_host *host, enum cupti_metric_type type, const char *base,
                              const char ***suffixes)
{
    char name[COUNTER_NAME_BYTES];
    struct cupti_host_sub_metrics list = { .host = host->object, .type = type, .metric = name };

    snprintf(name, sizeof name, "%s%s", base, counters_host_some_suffix(type));
    if (counters_host_call(CUPTI_CALL_host_sub_metrics, &list) != CUPTI_RESULT_SUCCESS || !list.names)
        return 0;
    *suffixes = list.names;
    return list.count;
}

int counters_host_has(const struct counters_host *host, const char *name, struct counters_properties *properties)
{
    struct cupti_host_properties answer = { .host = host->object, .metric = name };

    if (counters_host_call(CUPTI_CALL_host_properties, &answer) != CUPTI_RESULT_SUCCESS ||
        answer.type >= CUPTI_METRIC_TYPES)
        return 0;
    properties->type = answer.type;
    cupti_unit(answer.unit ? answer.unit : "", properties->unit, sizeof properties->unit);
    snprintf(properties->hardware, sizeof properties->hardware, "%s", answer.hardware ? answer.hardware : "");
    return 1;
}

int counters_host_config(const struct counters_host *host, const char **names, size_t count,
                         struct counters_config *config)
{
    struct cupti_host_add_metrics add = { .host = host->object, .names = names, .count = count };
    struct cupti_host_config_size size = { .host = host->object };

    *config = (struct counters_config){ 0 };
    int result = counters_host_call(CUPTI_CALL_host_add_metrics, &add);
    if (result == CUPTI_RESULT_SUCCESS)
        result = counters_host_call(CUPTI_CALL_host_config_size, &size);
    if (result != CUPTI_RESULT_SUCCESS)
        return result;
    config->image = calloc(1, size.bytes ? size.bytes : 1);
    config->bytes = size.bytes;
    if (!config->image)
        return CUPTI_RESULT_ERROR_OUT_OF_MEMORY;
    struct cupti_host_config make = { .host = host->object, .bytes = size.bytes, .image = config->image };
    struct cupti_host_passes passes = { .bytes = size.bytes, .image = config->image };
    result = counters_host_call(CUPTI_CALL_host_config, &make);
    if (result == CUPTI_RESULT_SUCCESS)
        result = counters_host_call(CUPTI_CALL_host_passes, &passes);
    config->passes = passes.passes;
    return result;
}
