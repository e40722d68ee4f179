/* Whether a report is whole: its file, and the events that it should hold. */
#ifndef TACHO_CMD_INFO_INFO_HEALTH_H
#define TACHO_CMD_INFO_INFO_HEALTH_H

#include "analyze/model/event_counts.h"

struct info_health {
    struct report_health file;
    uint64_t file_bytes; /* size of the file that the user names: its import has another size */
    struct event_counts counts;
    const char *state;   /* complete, nearly-complete (small losses), incomplete, damaged, unfinished */
};

/* Reads every chunk of the report. */
int info_health_read(struct info_health *health, struct report *report, const char *path, struct error *err);

/* Adds the state and the figures, and a line feed. */
void info_add_health(struct text *out, const struct info_health *health);

#endif
