#include "ncu_details.h"

#include <stdlib.h>
#include <string.h>

#include "abi/counters/counter_sections.h"
#include "base/array.h"

/* The section of metrics that were asked for by name, as ncu calls it. */
#define OTHER_SECTION "Command line profiler metrics"

static int add(struct ncu_details *details, struct ncu_detail row)
{
    if (array_reserve(&details->rows, &details->room, details->count + 1, sizeof *details->rows) != 0)
        return ERR_NO_MEMORY;
    details->rows[details->count++] = row;
    return 0;
}

/* The value of a row under one of its names; of an import whose label has several, under its label. */
static const struct counter_value *value_of(const struct kernel_counters *counters, const struct counted_kernel *kernel,
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

/* Facts of the launch are always there: a section that shows counters too was collected only if there is one of them.
 */
static int is_collected(const struct kernel_counters *counters, const struct counted_kernel *kernel,
                        const struct counter_section *section)
{
    int has_counters = 0;

    for (const struct section_metric *row = section->metrics; row->names; row++) {
        if (!row->unit || is_fact(row))
            continue;
        if (value_of(counters, kernel, row))
            return 1;
        has_counters = 1;
    }
    return !has_counters;
}

static int add_section(struct ncu_details *details, const struct kernel_counters *counters,
                       const struct counted_kernel *kernel, const struct counter_section *section)
{
    for (const struct section_metric *row = section->metrics; row->names; row++) {
        const struct counter_value *value = row->unit ? value_of(counters, kernel, row) : NULL;
        if (value && add(details, (struct ncu_detail){ section->title, row->label, value }) != 0)
            return ERR_NO_MEMORY;
    }
    return 0;
}

static int add_shown(struct ncu_details *details, const struct kernel_counters *counters,
                     const struct counted_kernel *kernel)
{
    for (const struct counter_section *section = counter_sections; section->name; section++)
        if (is_collected(counters, kernel, section) && add_section(details, counters, kernel, section) != 0)
            return ERR_NO_MEMORY;
    return 0;
}

static int is_shown(const struct ncu_details *details, size_t count, const struct counter_value *value)
{
    for (size_t i = 0; i < count; i++)
        if (details->rows[i].value == value)
            return 1;
    return 0;
}

/* A metric that no section shows is printed if it came from a details page, from a section of ours, or if there is no
 * section at all: it was asked for by name. ncu leaves the others to its raw page. */
static int add_others(struct ncu_details *details, const struct kernel_counters *counters,
                      const struct counted_kernel *kernel)
{
    size_t shown = details->count;

    for (size_t i = kernel->first; i < kernel->first + kernel->count; i++) {
        const struct counter_value *value = &counters->values[i];
        const struct counted_metric *metric = &counters->metrics[value->metric];
        const struct counter_section *section = counter_section_find(metric->section);
        const char *title = section ? section->title : *metric->section ? metric->section : OTHER_SECTION;
        int is_asked = section ? !!(section->sets & COUNTER_SET(light)) : *metric->section || !shown;
        if (is_asked && !is_shown(details, shown, value) &&
            add(details, (struct ncu_detail){ title, metric->name, value }) != 0)
            return ERR_NO_MEMORY;
    }
    return 0;
}

int ncu_details_read(struct ncu_details *details, const struct kernel_counters *counters,
                     const struct counted_kernel *kernel)
{
    details->count = 0;
    if (add_shown(details, counters, kernel) != 0)
        return ERR_NO_MEMORY;
    return add_others(details, counters, kernel);
}

int ncu_details_read_all(struct ncu_details *details, const struct kernel_counters *counters,
                         const struct counted_kernel *kernel)
{
    details->count = 0;
    for (size_t i = kernel->first; i < kernel->first + kernel->count; i++) {
        const struct counter_value *value = &counters->values[i];
        if (add(details, (struct ncu_detail){ "", counters->metrics[value->metric].name, value }) != 0)
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
