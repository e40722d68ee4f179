/* From what a user asks for (sets, sections, metrics) to counters that the chip has. Each wish ends as an entry, or as
 * a frame that says why it cannot be met (GPU_FRAME_MISSING). */
#ifndef TACHO_GPU_COUNTERS_COUNTERS_LIST_H
#define TACHO_GPU_COUNTERS_COUNTERS_LIST_H

#include "abi/counters/counter_sections.h"
#include "counters_host.h"

struct counters_entry {
    char name[COUNTER_NAME_BYTES];    /* as asked for: that of ncu */
    char counter[COUNTER_NAME_BYTES]; /* CUPTI's; "": CUPTI does not count it */
    const char *label, *section;      /* "" for a metric that was asked for by its name */
    struct counters_properties properties;
    enum counter_kind kind;           /* COUNTER_NONE: it cannot be met, and that was said */
    double factor;
};

struct counters_list {
    struct counters_host *host;
    struct counters_entry *entries; /* owned; each name once */
    size_t count, room;
    int is_short;                   /* memory */
};

/* Comma-separated names. A metric is a name with its suffix; a name without one, for its usual suffixes;
 * regex:EXPRESSION; or a name of ncu that is computed. */
void counters_list_add_sets(struct counters_list *list, const char *names);
void counters_list_add_sections(struct counters_list *list, const char *names);
void counters_list_add_metrics(struct counters_list *list, const char *names);

/* The same of samples over time: sets, also by nsys's names, and metrics. */
void counters_list_add_sampled(struct counters_list *list, const char *names);
void counters_list_free(struct counters_list *list);

/* Sends the frame, once for each name. */
void counters_list_miss(struct counters_list *list, const char *name, const char *why);
/* The same, of a metric that does not fit into one pass with those before it. */
void counters_list_miss_pass(struct counters_list *list, const char *name);

#endif
