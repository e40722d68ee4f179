/* ncu's details page shows metrics under labels, by section. Reports hold the names of metrics, so that figures from
 * any page are the same metric. */
#ifndef TACHO_REPORT_COUNTERS_COUNTER_LABELS_H
#define TACHO_REPORT_COUNTERS_COUNTER_LABELS_H

#include <stddef.h>

struct counter_label {
    const char *section, *label;
    const char *unit; /* base unit; "": none */
    const char *metric;
};

/* In the order in which the page shows them; a row without a label ends them. */
extern const struct counter_label counter_labels[];

/* The row of a label with this base unit, in whatever section; NULL if there is none. */
const struct counter_label *counter_label_find(const char *label, const char *unit);
/* The row of a metric, or NULL. */
const struct counter_label *counter_label_of(const char *metric);

/* The section of metrics that have no label, as ncu calls it for --metrics. */
#define COUNTER_OTHER_SECTION "Command line profiler metrics"

#endif
