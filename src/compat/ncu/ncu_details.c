#include "ncu_details.h"

#include <stdlib.h>
#include <string.h>

#include "abi/counters/counter_sections.h"
#include "base/array.h"

/* The section of metrics that were asked for by name, as ncu calls it. */
#define OTHER_SECTION "Command line profiler metrics"

static int ncu_details_add(struct ncu_details *details, struct ncu_detail row)
{
    if (array_reserve(&details->rows, &details->room, details->count + 1, sizeof *details->rows) != 0)
        return ERR_NO_MEMORY;
    details->rows[details->count++] = row;
    return 0;
}

/* The value of a row under one of its names; for an import whose label has several names, under its label. */
static const struct counter_value *ncu_details_value_of(const struct kernel_counters *counters,
                                                        const struct counted_kernel *kernel,
                                                        const struct section_metric *row)
{
    const struct counter_value *value = NULL;
    char name[256];

    for (const char *at = row->names; at && !value;) {
        struct counter_names names = { at, NULL };
        counter_names_next(&names, name, sizeof name);
        value = kernel_counters_find(counters, kernel, name);
        at = strchr(at, '|');
        at = at ? at + 1 : NULL;
    }
    return value ? value : kernel_counters_find(counters, kernel, row->label);
}

static int is_fact(const struct section_metric *row)
{
    return counter_kind_of(row->names, NULL) == COUNTER_LAUNCH;
}

/* How many counters a section shows; how many of them were collected, asked for by any section, and asked for by this
 * one. */
struct collected {
    size_t shown, found, of_sections, of_this;
};

static struct collected count_collected(const struct kernel_counters *counters, const struct counted_kernel *kernel,
                                        const struct counter_section *section)
{
    struct collected count = { 0 };

    for (const struct section_metric *row = section->metrics; row->names; row++) {
        if (!row->unit || is_fact(row))
            continue;
        const struct counter_value *value = ncu_details_value_of(counters, kernel, row);
        const char *origin = value ? counters->metrics[value->metric].section : "";
        count.shown++;
        count.found += value != NULL;
        count.of_sections += *origin != 0;
        count.of_this += strcmp(origin, section->name) == 0;
    }
    return count;
}

/* Every report has the facts of a launch, so a section that also shows counters was collected only if one of these is
 * there. Tacho's reports name the first section that asked for each counter: a section that only shows counters of
 * others was asked for if it is in the same set. */
static int is_collected(const struct kernel_counters *counters, const struct counted_kernel *kernel,
                        const struct counter_section *section, const struct ncu_asked *asked)
{
    struct collected count = count_collected(counters, kernel, section);

    if (!counters->has_origins)
        return !count.shown || count.found;
    if (!count.shown)
        return asked->has_sections;
    return count.of_this || count.of_sections == count.shown || (count.of_sections && section->sets & asked->set);
}

static int is_printed(const struct ncu_asked *asked, const struct kernel_counters *counters,
                      const struct counted_kernel *kernel, const struct counter_section *section)
{
    return asked->settings ? ncu_asked_section(asked, section) : is_collected(counters, kernel, section, asked);
}

static int ncu_details_add_section(struct ncu_details *details, const struct kernel_counters *counters,
                                   const struct counted_kernel *kernel, const struct counter_section *section)
{
    for (const struct section_metric *row = section->metrics; row->names; row++) {
        const struct counter_value *value = row->unit ? ncu_details_value_of(counters, kernel, row) : NULL;
        if (value && ncu_details_add(details, (struct ncu_detail){ section->title, row->label, value }) != 0)
            return ERR_NO_MEMORY;
    }
    return 0;
}

static int ncu_details_add_shown(struct ncu_details *details, const struct kernel_counters *counters,
                                 const struct counted_kernel *kernel, const struct ncu_asked *asked)
{
    for (const struct counter_section *section = counter_sections; section->name; section++)
        if (is_printed(asked, counters, kernel, section) &&
            ncu_details_add_section(details, counters, kernel, section) != 0)
            return ERR_NO_MEMORY;
    return 0;
}

static int ncu_details_is_shown(const struct ncu_details *details, size_t count, const struct counter_value *value)
{
    for (size_t i = 0; i < count; i++)
        if (details->rows[i].value == value)
            return 1;
    return 0;
}

/* Whether a metric that no section shows is printed, without options that say so: if it came from a details page, from
 * a section of ours, or was asked for by name. ncu leaves the others to its raw page. */
static int ncu_details_is_other(const struct kernel_counters *counters, const struct counter_value *value,
                                int has_shown)
{
    const struct counted_metric *metric = &counters->metrics[value->metric];
    const struct counter_section *section = counter_section_find(metric->section);

    if (section)
        return !!(section->sets & COUNTER_SET(light));
    if (counters->has_origins)
        return value->row != SIZE_MAX; /* no fact of the launch, which nobody has asked for */
    return *metric->section || !has_shown;
}

static const char *ncu_details_title_of(const struct counted_metric *metric, const struct counter_section *section)
{
    return section ? section->title : *metric->section ? metric->section : OTHER_SECTION;
}

/* The same with options that select sections. */
static int is_other_asked(const struct ncu_asked *asked, const struct counted_metric *metric)
{
    const struct counter_section *section = counter_section_find(metric->section);

    if (section)
        return section->sets & COUNTER_SET(light) && ncu_asked_section(asked, section);
    for (section = counter_sections; *metric->section && section->name; section++)
        if (strcmp(section->title, metric->section) == 0)
            return ncu_asked_section(asked, section);
    return 0;
}

static int ncu_details_add_others(struct ncu_details *details, const struct kernel_counters *counters,
                                  const struct counted_kernel *kernel, const struct ncu_asked *asked)
{
    size_t shown = details->count;

    for (size_t i = kernel->first; i < kernel->first + kernel->count; i++) {
        const struct counter_value *value = &counters->values[i];
        const struct counted_metric *metric = &counters->metrics[value->metric];
        int is_wanted = asked->settings ? is_other_asked(asked, metric)
                                        : ncu_details_is_other(counters, value, shown > 0);
        const char *title = ncu_details_title_of(metric, counter_section_find(metric->section));
        if (is_wanted && !ncu_details_is_shown(details, shown, value) &&
            ncu_details_add(details, (struct ncu_detail){ title, metric->name, value }) != 0)
            return ERR_NO_MEMORY;
    }
    return 0;
}

/* Metrics of --metrics come last, in a section of their own, whether another shows them or not. */
static int ncu_details_add_named(struct ncu_details *details, const struct kernel_counters *counters,
                                 const struct counted_kernel *kernel, const struct ncu_asked *asked)
{
    for (size_t i = kernel->first; asked->settings && i < kernel->first + kernel->count; i++) {
        const struct counter_value *value = &counters->values[i];
        if (ncu_asked_metric(asked, value->metric) &&
            ncu_details_add(details,
                            (struct ncu_detail){ OTHER_SECTION, counters->metrics[value->metric].name, value }) != 0)
            return ERR_NO_MEMORY;
    }
    return 0;
}

int ncu_details_read(struct ncu_details *details, const struct kernel_counters *counters,
                     const struct counted_kernel *kernel, const struct ncu_asked *asked)
{
    details->count = 0;
    if (ncu_details_add_shown(details, counters, kernel, asked) != 0 ||
        ncu_details_add_others(details, counters, kernel, asked) != 0)
        return ERR_NO_MEMORY;
    return ncu_details_add_named(details, counters, kernel, asked);
}

int ncu_details_read_all(struct ncu_details *details, const struct kernel_counters *counters,
                         const struct counted_kernel *kernel, const struct ncu_asked *asked)
{
    details->count = 0;
    for (size_t i = kernel->first; i < kernel->first + kernel->count; i++) {
        const struct counter_value *value = &counters->values[i];
        if (ncu_asked_column(asked, counters, value->metric) &&
            ncu_details_add(details, (struct ncu_detail){ "", counters->metrics[value->metric].name, value }) != 0)
            return ERR_NO_MEMORY;
    }
    return 0;
}

/* Rows of one section keep their order. */
void ncu_details_sort(struct ncu_details *details)
{
    for (size_t i = 1; i < details->count; i++) {
        struct ncu_detail row = details->rows[i];
        size_t at = i;
        for (; at > 0 && strcmp(details->rows[at - 1].section, row.section) > 0; at--)
            details->rows[at] = details->rows[at - 1];
        details->rows[at] = row;
    }
}

void ncu_details_free(struct ncu_details *details)
{
    free(details->rows);
    *details = (struct ncu_details){ 0 };
}
