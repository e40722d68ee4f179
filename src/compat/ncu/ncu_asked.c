#include "ncu_asked.h"

#include <stdlib.h>
#include <string.h>

#include "base/regex/regex.h"

#define REGEX "regex:"

/* A base stands for its name with every suffix. */
static int ncu_asked_is_named(const char *metric, const char *asked)
{
    size_t length = strlen(asked);

    return strncmp(metric, asked, length) == 0 && (!metric[length] || metric[length] == '.');
}

static int mark_matches(struct ncu_asked *asked, const struct kernel_counters *counters, const char *expression,
                        struct error *err)
{
    struct regex *regex = regex_compile(expression, strlen(expression), 0, err);

    if (!regex)
        return err->code;
    for (size_t i = 0; i < counters->names.count; i++) {
        const char *name = counters->metrics[i].name;
        asked->by_name[i] |= regex_matches(regex, name, strcspn(name, ".")) || regex_matches(regex, name, strlen(name));
    }
    regex_free(regex);
    return 0;
}

static int mark_names(struct ncu_asked *asked, const struct kernel_counters *counters, const char *list,
                      struct error *err)
{
    char **names = option_split(list, NULL);

    if (!names)
        return error_no_memory(err);
    for (char **name = names; *name && !err->code; name++) {
        if (strncmp(*name, REGEX, strlen(REGEX)) == 0)
            mark_matches(asked, counters, *name + strlen(REGEX), err);
        for (size_t i = 0; i < counters->names.count; i++)
            asked->by_name[i] |= ncu_asked_is_named(counters->metrics[i].name, *name);
    }
    free(names);
    return err->code;
}

static void read_origins(struct ncu_asked *asked, const struct kernel_counters *counters)
{
    unsigned sets = ~0u;

    for (size_t i = 0; i < counters->names.count; i++) {
        const struct counter_section *section = counter_section_find(counters->metrics[i].section);
        if (!section || section->sets & COUNTER_SET(light))
            continue;
        asked->has_sections = 1;
        sets &= section->sets;
    }
    asked->set = asked->has_sections ? sets & (0u - sets) : 0; /* smaller sets come first */
}

int ncu_asked_read(struct ncu_asked *asked, const struct ncu_settings *settings, const struct kernel_counters *counters,
                   struct error *err)
{
    *asked = (struct ncu_asked){ 0 };
    read_origins(asked, counters);
    if (!settings->is_run && !settings->sets.count && !settings->sections.count && !settings->metrics.count)
        return 0;
    if (!(asked->by_name = calloc(counters->names.count + 1, 1)))
        return error_no_memory(err);
    asked->settings = settings;
    for (size_t i = 0; i < settings->metrics.count; i++)
        if (mark_names(asked, counters, settings->metrics.values[i], err) != 0)
            return err->code;
    return 0;
}

void ncu_asked_free(struct ncu_asked *asked)
{
    free(asked->by_name);
    *asked = (struct ncu_asked){ 0 };
}

int ncu_asked_section(const struct ncu_asked *asked, const struct counter_section *section)
{
    return ncu_has_section(asked->settings, section->name, section->sets);
}

int ncu_asked_metric(const struct ncu_asked *asked, size_t metric)
{
    return asked->by_name[metric];
}

/* Whether a row of a section stands for a metric; the label of an import counts too. */
static int is_of_row(const struct section_metric *row, const char *metric)
{
    char name[256];

    for (const char *at = row->names; at;) {
        struct counter_names names = { at, NULL };
        while (counter_names_next(&names, name, sizeof name))
            if (strcmp(name, metric) == 0)
                return 1;
        at = strchr(at, '|');
        at = at ? at + 1 : NULL;
    }
    return row->label && strcmp(row->label, metric) == 0;
}

int ncu_asked_column(const struct ncu_asked *asked, const struct kernel_counters *counters, size_t metric)
{
    if (!asked->settings || asked->settings->is_run || asked->by_name[metric])
        return 1;
    for (const struct counter_section *section = counter_sections; section->name; section++) {
        if (!ncu_asked_section(asked, section))
            continue;
        for (const struct section_metric *row = section->metrics; row->names; row++)
            if (is_of_row(row, counters->metrics[metric].name))
                return 1;
    }
    return 0;
}
