/* The last lines of a capture: at most fifteen, and the most important first. */
#ifndef TACHO_CMD_PROFILE_SUMMARY_H
#define TACHO_CMD_PROFILE_SUMMARY_H

#include "base/text.h"
#include "collect/collect.h"
#include "report/reader/reader.h"

enum { CLOSING_LINES = 15 };

struct closing {
    const struct collect_result *result;
    struct report *report;      /* NULL if it cannot be opened: its tables are then left out */
    const char *report_path;
    const char *program;        /* as it was called */
    uint32_t sources;           /* WIRE_BIT()s that were asked for; samples if they were taken at all */
    int python;                 /* stacks of Python were asked for */
    int output_hidden;
    const char *const *exports; /* what was written beside the report; export_count of them */
    size_t export_count;
    int colours;
};

void summary_add(struct text *out, const struct closing *closing);

#endif
