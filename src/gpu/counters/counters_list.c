#include "counters_list.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/regex/regex.h"
#include "base/text.h"
#include "counters_nearest.h"
#include "gpu/frames/frames_out.h"
#include "gpu/frames/word_list.h"

#define OVER_TIME "pmsampling:"
#define REGEX "regex:"

enum { SENTENCE_BYTES = 1024 };

void counters_list_free(struct counters_list *list)
{
    free(list->entries);
    list->entries = NULL;
}

/* The entry of a name, which is new or there already; NULL: memory is short. */
static struct counters_entry *counters_list_entry_of(struct counters_list *list, const char *name)
{
    for (size_t i = 0; i < list->count; i++)
        if (strcmp(list->entries[i].name, name) == 0)
            return &list->entries[i];
    if (array_reserve(&list->entries, &list->room, list->count + 1, sizeof *list->entries)) {
        list->is_short = 1;
        return NULL;
    }
    struct counters_entry *entry = &list->entries[list->count++];
    *entry = (struct counters_entry){ .label = "", .section = "", .factor = 1 };
    snprintf(entry->name, sizeof entry->name, "%s", name);
    return entry;
}

static void miss(struct counters_list *list, const char *name, const char *why, uint64_t needs_pass)
{
    struct gpu_missing head = { .needs_pass = needs_pass };
    struct text frame = { 0 };
    struct counters_entry *entry = counters_list_entry_of(list, name);

    if (!entry || entry->kind == COUNTER_NONE)
        return; /* said before */
    entry->kind = COUNTER_NONE;
    *entry->counter = 0;
    text_add_bytes(&frame, &head, sizeof head);
    text_add_bytes(&frame, name, strlen(name) + 1);
    text_add_bytes(&frame, why, strlen(why) + 1);
    if (!text_failed(&frame))
        frames_add(GPU_FRAME_MISSING, frame.bytes, frame.length);
    text_free(&frame);
}

void counters_list_miss(struct counters_list *list, const char *name, const char *why)
{
    miss(list, name, why, 0);
}

void counters_list_miss_pass(struct counters_list *list, const char *name)
{
    miss(list, name, "It needs a second pass beside the metrics before it.", 1);
}

/* ---- One name ---------------------------------------------------------------------------------------------------- */

/* Adds a name with its suffix, if there is such a metric: 1. */
static int counters_list_add_name(struct counters_list *list, const char *name, const struct section_metric *row,
                                  const char *section)
{
    struct counters_properties properties = { 0 };
    double factor = 1;
    enum counter_kind kind = counter_kind_of(name, NULL);
    const char *counter = kind == COUNTER_LAUNCH ? "" : name;

    if (kind == COUNTER_DERIVED)
        counter = counter_derived_from(name, &factor);
    if (!counter || (kind != COUNTER_LAUNCH && !counters_host_has(list->host, counter, &properties)))
        return 0;
    struct counters_entry *entry = counters_list_entry_of(list, name);
    if (!entry)
        return 1;
    snprintf(entry->counter, sizeof entry->counter, "%s", counter);
    entry->properties = properties;
    entry->kind = kind;
    entry->factor = factor;
    if (row && !*entry->section) {
        entry->label = row->label;
        entry->section = section;
    }
    return 1;
}

static void say_missing(struct counters_list *list, const char *name)
{
    char sentence[SENTENCE_BYTES];
    const char *why = "";

    enum counter_kind kind = counter_kind_of(name, &why);
    if (kind == COUNTER_DEVICE || !*why) {
        counters_nearest(list->host, name, sentence, sizeof sentence);
        why = sentence;
    }
    counters_list_miss(list, name, why);
}

/* ---- Sections ---------------------------------------------------------------------------------------------------- */

static int is_over_time(const char *name)
{
    return text_begins_with(name, OVER_TIME);
}

/* The names of one alternative: 1 if the chip has them. */
static int add_alternative(struct counters_list *list, const char *alternative, const struct section_metric *row,
                           const char *section)
{
    struct counter_names names = { alternative, NULL };
    char name[COUNTER_NAME_BYTES];
    int found = 0;

    while (counter_names_next(&names, name, sizeof name)) {
        int has = counters_list_add_name(list, is_over_time(name) ? name + strlen(OVER_TIME) : name, row, section);
        if (!has && found)
            counters_list_miss(list, name, "The chip has this metric with other suffixes only.");
        found |= has;
        if (!found)
            return 0;
    }
    return found;
}

/* Metrics of the other profiler belong to a configuration of their own. */
static void counters_list_add_row(struct counters_list *list, const struct section_metric *row, const char *section)
{
    const char *alternative = row->names;
    char name[COUNTER_NAME_BYTES];

    if (is_over_time(alternative) != (list->host->profiler == CUPTI_PROFILER_SAMPLING) ||
        !counter_is_for(row->chips, list->host->chip))
        return;
    while (alternative) {
        if (add_alternative(list, alternative, row, section))
            return;
        alternative = strchr(alternative, '|');
        alternative = alternative ? alternative + 1 : NULL;
    }
    struct counter_names names = { row->names, NULL };
    counter_names_next(&names, name, sizeof name);
    say_missing(list, is_over_time(name) ? name + strlen(OVER_TIME) : name);
}

static void counters_list_add_section(struct counters_list *list, const struct counter_section *section)
{
    for (const struct section_metric *row = section->metrics; row->names; row++)
        counters_list_add_row(list, row, section->name);
}

/* ---- Metrics by name ------------------------------------------------------------------------------------------- */

/* The suffixes that ncu adds to a name without one. */
static const char *const usual[CUPTI_METRIC_TYPES][5] = {
    { ".avg", ".max", ".min", ".sum", NULL },
    { ".max_rate", ".pct", ".ratio", NULL },
    { ".avg.pct_of_peak_sustained_elapsed", ".max.pct_of_peak_sustained_elapsed", ".min.pct_of_peak_sustained_elapsed",
      ".sum.pct_of_peak_sustained_elapsed", NULL },
};

static void add_usual(struct counters_list *list, const char *base, enum cupti_metric_type type)
{
    char name[COUNTER_NAME_BYTES];

    for (size_t i = 0; usual[type][i]; i++) {
        snprintf(name, sizeof name, "%s%s", base, usual[type][i]);
        counters_list_add_name(list, name, NULL, NULL);
    }
}

/* 1 if the name is a base metric. */
static int add_base(struct counters_list *list, const char *base)
{
    for (int type = 0; type < CUPTI_METRIC_TYPES; type++) {
        const struct counters_bases *bases = counters_host_bases(list->host, (enum cupti_metric_type)type);
        for (size_t i = 0; i < bases->count; i++)
            if (strcmp(bases->names[i], base) == 0) {
                add_usual(list, base, (enum cupti_metric_type)type);
                return 1;
            }
    }
    return 0;
}

/* A base that matches has its usual suffixes; else names with suffixes are tried. */
static size_t counters_list_add_matches(struct counters_list *list, struct regex *regex, enum cupti_metric_type type)
{
    char name[COUNTER_NAME_BYTES];
    const char **suffixes = NULL;
    const struct counters_bases *bases = counters_host_bases(list->host, type);
    size_t before = list->count;

    for (size_t i = 0; i < bases->count; i++) {
        const char *base = bases->names[i];
        if (regex_matches(regex, base, strlen(base))) {
            add_usual(list, base, type);
            continue;
        }
        size_t endings = counters_host_suffixes(list->host, type, base, &suffixes);
        for (size_t k = 0; k < endings; k++) {
            snprintf(name, sizeof name, "%s%s", base, suffixes[k]);
            if (regex_matches(regex, name, strlen(name)))
                counters_list_add_name(list, name, NULL, NULL);
        }
    }
    return list->count - before;
}

static void add_regex(struct counters_list *list, const char *name)
{
    struct error err;
    const char *pattern = name + strlen(REGEX);
    struct regex *regex = regex_compile(pattern, strlen(pattern), 0, &err);
    size_t found = 0;

    if (!regex) {
        counters_list_miss(list, name, err.text);
        return;
    }
    for (int type = 0; type < CUPTI_METRIC_TYPES; type++)
        found += counters_list_add_matches(list, regex, (enum cupti_metric_type)type);
    if (!found)
        counters_list_miss(list, name, "No metric of this chip matches.");
    regex_free(regex);
}

static void counters_list_add_metric(struct counters_list *list, const char *name)
{
    if (text_begins_with(name, REGEX))
        add_regex(list, name);
    else if (text_begins_with(name, "group:"))
        counters_list_miss(list, name, "The groups of ncu are not public; name a section (--section) or metrics.");
    else {
        const char *own = is_over_time(name) ? name + strlen(OVER_TIME) : name;
        /* Bases first: CUPTI 13 knows them as metrics, and cannot count them. */
        if (!add_base(list, own) && !counters_list_add_name(list, own, NULL, NULL))
            say_missing(list, own);
    }
}

/* ---- Lists of names -------------------------------------------------------------------------------------------- */

static void for_each(struct counters_list *list, const char *names,
                     void (*add)(struct counters_list *list, const char *name))
{
    char name[COUNTER_NAME_BYTES];
    const char *word;
    size_t length;

    while (word_list_next(&names, &word, &length)) {
        snprintf(name, sizeof name, "%.*s", (int)length, word);
        if (*name)
            add(list, name);
    }
}

static void add_set_named(struct counters_list *list, const char *name)
{
    const struct counter_set *set = counter_set_find(name);

    if (!set) {
        counters_list_miss(list, name, "There is no such set (tacho ncu --list-sets).");
        return;
    }
    for (const struct counter_section *section = counter_sections; section->name; section++)
        if (section->sets & 1u << (set - counter_sets))
            counters_list_add_section(list, section);
}

static void add_section_named(struct counters_list *list, const char *name)
{
    const struct counter_section *section = counter_section_find(name);

    if (section)
        counters_list_add_section(list, section);
    else
        counters_list_miss(list, name, "There is no such section (tacho ncu --list-sections).");
}

/* One that is sampled: a metric has a unit of the chip before two underscores; the rest are sets, ours or nsys's. */
static void add_sampled(struct counters_list *list, const char *name)
{
    const struct sampling_set *set = sampling_set_find(name);

    if (strstr(name, "__"))
        counters_list_add_metric(list, name);
    else if (!set)
        add_set_named(list, name);
    else if (counter_is_for(set->chips, list->host->chip))
        add_section_named(list, set->section);
    else
        counters_list_miss(list, name, "It is a set of other chips (--gpu-metrics-set=help).");
}

void counters_list_add_sampled(struct counters_list *list, const char *names)
{
    for_each(list, names, add_sampled);
}

void counters_list_add_sets(struct counters_list *list, const char *names)
{
    for_each(list, names, add_set_named);
}

void counters_list_add_sections(struct counters_list *list, const char *names)
{
    for_each(list, names, add_section_named);
}

void counters_list_add_metrics(struct counters_list *list, const char *names)
{
    for_each(list, names, counters_list_add_metric);
}
