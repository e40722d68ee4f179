/* The rows of counter_labels.def. */
#include "counter_labels.h"

#include <string.h>

const struct counter_label counter_labels[] = {
#define LABEL(section, label, unit, metric) { section, label, unit, metric },
#include "counter_labels.def"
    { 0 },
};

const struct counter_label *counter_label_find(const char *label, const char *unit)
{
    for (const struct counter_label *at = counter_labels; at->label; at++)
        if (strcmp(at->label, label) == 0 && strcmp(at->unit, unit) == 0)
            return at;
    return NULL;
}

const struct counter_label *counter_label_of(const char *metric)
{
    for (const struct counter_label *at = counter_labels; at->label; at++)
        if (strcmp(at->metric, metric) == 0)
            return at;
    return NULL;
}
