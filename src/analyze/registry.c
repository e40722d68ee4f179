/* The lists of reports and rules. */
#include "registry.h"

#include <stdlib.h>
#include <string.h>

const struct analysis *const analyses[] = {
#define ANALYSIS(name) &analysis_##name,
#include "registry.def"
    NULL,
};

const struct analysis *const rules[] = {
#define RULE(name) &rule_##name,
#include "registry.def"
    NULL,
};

static const struct analysis *find(const struct analysis *const *list, const char *name)
{
    for (const struct analysis *const *at = list; *at; at++)
        if (strcmp((*at)->name, name) == 0 || ((*at)->old_name && strcmp((*at)->old_name, name) == 0))
            return *at;
    return NULL;
}

const struct analysis *analysis_find(const char *name)
{
    return find(analyses, name);
}

const struct analysis *rule_find(const char *name)
{
    return find(rules, name);
}

static int by_place(const void *a, const void *b)
{
    const struct analysis *const *x = a, *const *y = b;

    return ((*x)->by_default > (*y)->by_default) - ((*x)->by_default < (*y)->by_default);
}

size_t analysis_defaults(struct report *report, const struct analysis **out, size_t room)
{
    size_t count = 0;

    for (const struct analysis *const *at = analyses; *at && count + 1 < room; at++)
        if (analysis_is_default(*at, report))
            out[count++] = *at;
    qsort(out, count, sizeof *out, by_place);
    out[count] = NULL;
    return count;
}
