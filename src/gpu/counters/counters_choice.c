#include "counters_choice.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "abi/cupti.h"
#include "base/array.h"

/* The counters of the list, each once, up to one entry. The caller frees them. */
static const char **counters_choice_of(const struct counters_list *list, size_t *count)
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
static int counters_choice_configure(const struct counters_host *like, const char **names, size_t count,
                                     struct counters_config *config)
{
    struct counters_host host;
    int result = counters_host_open(&host, like->chip, like->profiler, like->availability);

    *config = (struct counters_config){ 0 };
    if (result == CUPTI_RESULT_SUCCESS)
        result = counters_host_config(&host, names, count, config);
    counters_host_close(&host);
    return result;
}

/* Every metric that needs this counter. why: NULL for those that need another pass. */
static void drop(struct counters_list *list, const char *counter, const char *why)
{
    char name[COUNTER_NAME_BYTES];

    snprintf(name, sizeof name, "%s", counter);
    for (size_t i = 0; i < list->count; i++)
        if (strcmp(list->entries[i].counter, name) == 0 && why)
            counters_list_miss(list, list->entries[i].name, why);
        else if (strcmp(list->entries[i].counter, name) == 0)
            counters_list_miss_pass(list, list->entries[i].name);
}

/* Counters of the whole GPU do not go with those of kernels: leaves them out if there are both. Samples are of the
 * whole GPU in any case. Returns how many are left. */
static size_t keep_kernels(struct counters_list *list, const char **names, size_t count)
{
    const char *why;
    size_t kept = 0, others = 0;

    for (size_t i = 0; i < count && list->host->profiler == CUPTI_PROFILER_RANGE; i++)
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
        if (counters_choice_configure(list->host, &names[i], 1, &config) == CUPTI_RESULT_SUCCESS)
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
        if (counters_choice_configure(list->host, names, kept, &config) != CUPTI_RESULT_SUCCESS || config.passes > 1)
            drop(list, names[--kept], NULL);
        free(config.image);
    }
    return kept;
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
    int result = *count ? counters_choice_configure(list->host, names, *count, config) : CUPTI_RESULT_SUCCESS;

    for (size_t i = 0; i < COUNT_OF(steps); i++) {
        int is_last = steps[i] == keep_one_pass;
        if (is_last ? !is_single || (result == CUPTI_RESULT_SUCCESS && config->passes <= 1)
                    : result == CUPTI_RESULT_SUCCESS)
            continue;
        free(config->image);
        *config = (struct counters_config){ 0 };
        *count = steps[i](list, names, *count);
        result = *count ? counters_choice_configure(list->host, names, *count, config) : CUPTI_RESULT_SUCCESS;
    }
    return result;
}

int counters_choose(struct counters_list *list, int is_single, struct counters_choice *choice)
{
    *choice = (struct counters_choice){ 0 };
    choice->names = counters_choice_of(list, &choice->count);
    if (!choice->names || list->is_short)
        return CUPTI_RESULT_ERROR_OUT_OF_MEMORY;
    return configure_rest(list, choice->names, &choice->count, is_single, &choice->config);
}

void counters_choice_free(struct counters_choice *choice)
{
    free(choice->names);
    free(choice->config.image);
    *choice = (struct counters_choice){ 0 };
}
