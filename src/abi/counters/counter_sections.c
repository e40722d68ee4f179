/* Looks sets, sections and chips up in the tables. */
#include "counter_sections.h"

#include <stdio.h>
#include <string.h>

#include "base/array.h"

const struct counter_set counter_sets[COUNTER_SET_COUNT] = {
#define SET_ROW(name, purpose) { #name, purpose },
    COUNTER_SETS(SET_ROW)
#undef SET_ROW
};

#define SECTION(name, title, sets) static const struct section_metric metrics_##name[] = {
#define METRIC(names, label, chips) { names, label, chips, NULL },
#define SHOWN(names, label, unit, chips) { names, label, chips, unit },
#define PRINTED(name, label, unit) { name, label, NULL, unit },
#define SECTION_END(name) { 0 } };
/* clang-format off */
#include "counter_sections.def"
/* clang-format on */
#undef SECTION
#undef METRIC
#undef SHOWN
#undef PRINTED
#undef SECTION_END

const struct counter_section counter_sections[] = {
#define SECTION(name, title, sets) { #name, title, sets, metrics_##name },
#define METRIC(names, label, chips)
#define SHOWN(names, label, unit, chips)
#define PRINTED(name, label, unit)
#define SECTION_END(name)
#include "counter_sections.def"
#undef SECTION
#undef METRIC
#undef SHOWN
#undef PRINTED
#undef SECTION_END
    { NULL, NULL, 0, NULL },
};

static const struct {
    const char *name;
    int capability;
} chips[] = {
#define COUNTER_CHIP(name, capability) { #name, capability },
#include "counter_chips.def"
#undef COUNTER_CHIP
};

enum { CHIPS = COUNT_OF(chips) };

const char *const *counter_chip_names(void)
{
    static const char *const names[] = {
#define COUNTER_CHIP(name, capability) #name,
#include "counter_chips.def"
#undef COUNTER_CHIP
        NULL
    };
    return names;
}

static const struct {
    const char *prefix;
    enum counter_kind kind;
    const char *why;
} counter_section_kinds[] = {
#define COUNTER_KIND(prefix, kind, why) { prefix, COUNTER_##kind, why },
#include "counter_kinds.def"
#undef COUNTER_KIND
};

static const struct {
    const char *name;
    double factor;
    const char *metric;
} derived[] = {
#define DERIVED(name, factor, metric) { name, factor, metric },
#include "counter_derived.def"
#undef DERIVED
};

const struct counter_section *counter_section_find(const char *name)
{
    for (const struct counter_section *section = counter_sections; section->name; section++)
        if (strcmp(section->name, name) == 0)
            return section;
    return NULL;
}

const struct counter_set *counter_set_find(const char *name)
{
    for (size_t i = 0; i < COUNTER_SET_COUNT; i++)
        if (strcmp(counter_sets[i].name, name) == 0)
            return &counter_sets[i];
    return NULL;
}

const struct sampling_set sampling_sets[] = {
#define SAMPLING_SET(name, section, chips, title) { name, #section, chips, title },
#include "sampling_sets.def"
#undef SAMPLING_SET
    { NULL, NULL, NULL, NULL },
};

const struct sampling_set *sampling_set_find(const char *name)
{
    for (const struct sampling_set *set = sampling_sets; set->name; set++)
        if (strcmp(set->name, name) == 0)
            return set;
    return NULL;
}

const struct section_metric *counter_shown_find(const char *label, const char *unit)
{
    for (const struct counter_section *section = counter_sections; section->name; section++)
        for (const struct section_metric *row = section->metrics; row->names; row++)
            if (row->unit && strcmp(row->label, label) == 0 && strcmp(row->unit, unit) == 0)
                return row;
    return NULL;
}

/* Its place in the list; CHIPS for one that is not there. */
static size_t chip_place(const char *name, size_t length)
{
    size_t i = 0;
    while (i < CHIPS && (strlen(chips[i].name) != length || memcmp(chips[i].name, name, length) != 0))
        i++;
    return i;
}

int counter_is_for(const char *range, const char *chip)
{
    size_t place = chip_place(chip, strlen(chip));

    if (!range)
        return 0;
    if (!*range)
        return 1;
    while (*range) {
        size_t length = strcspn(range, "- ");
        size_t first = chip_place(range, length), last = first;
        range += length;
        if (*range == '-') {
            range++;
            length = strcspn(range, " ");
            last = length ? chip_place(range, length) : CHIPS;
            range += length;
        }
        if (place >= first && place <= last)
            return 1;
        range += *range == ' ';
    }
    return 0;
}

int counter_chip_capability(const char *chip)
{
    size_t place = chip_place(chip, strlen(chip));
    return place < CHIPS ? chips[place].capability : 0;
}

enum counter_kind counter_kind_of(const char *name, const char **why)
{
    for (size_t i = 0; i < COUNT_OF(counter_section_kinds); i++)
        if (strncmp(name, counter_section_kinds[i].prefix, strlen(counter_section_kinds[i].prefix)) == 0) {
            if (why)
                *why = counter_section_kinds[i].why;
            return counter_section_kinds[i].kind;
        }
    if (why)
        *why = "";
    return COUNTER_HARDWARE;
}

const char *counter_derived_from(const char *name, double *factor)
{
    for (size_t i = 0; i < COUNT_OF(derived); i++)
        if (strcmp(derived[i].name, name) == 0) {
            *factor = derived[i].factor;
            return derived[i].metric;
        }
    return NULL;
}

int counter_names_next(struct counter_names *names, char *name, size_t bytes)
{
    int base = (int)strcspn(names->base, "{|");

    if (names->base[base] != '{') {
        if (names->suffix)
            return 0;
        names->suffix = names->base + base;
        snprintf(name, bytes, "%.*s", base, names->base);
        return 1;
    }
    if (!names->suffix)
        names->suffix = names->base + base; /* at '{' */
    if (*names->suffix == '}')
        return 0;
    names->suffix++;
    int length = (int)strcspn(names->suffix, ",}");
    snprintf(name, bytes, "%.*s%.*s", base, names->base, length, names->suffix);
    names->suffix += length;
    return 1;
}
