/* The sources of a report and their events: those that were counted while it was recorded, and those whose tables have
 * rows, as in an import. */
#ifndef TACHO_CMD_REPORT_SOURCES_H
#define TACHO_CMD_REPORT_SOURCES_H

#include "analyze/model/event_counts.h"

struct cmd_source_subject;

struct report_source {
    const char *name;
    uint64_t recorded, below_threshold, untimed, left_out, lost, empty_polls;
    int is_counted;                   /* 0: only `recorded` is known, from the rows of the table */
    const struct report_table *table; /* its events; NULL: they have no table of their own */
};

struct report_sources {
    struct event_counts counts;
    struct report_source list[2 * COUNTED_SOURCES_MAX];
    size_t count;
    int is_uncertain; /* counts are written while a process runs and when it ends, and the report ends before */
};

int report_sources_read(struct report_sources *sources, struct report *report, struct error *err);

/* The purpose of the capture, if its tables show it; else NULL. */
const struct cmd_source_subject *report_sources_subject(struct report *report);

#endif
