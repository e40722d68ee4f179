/* The last lines of a capture: at most fifteen, and the most important first. */
#ifndef TACHO_CMD_CLOSING_H
#define TACHO_CMD_CLOSING_H

#include "../base/text.h"
#include "../collect/collect.h"
#include "../report/reader.h"

enum { CLOSING_LINES = 15 };

struct closing {
    const struct collect_result *result;
    struct report *report;   /* NULL if it cannot be opened: its tables are then left out */
    const char *report_path;
    const char *program;     /* as it was called */
    int colours;
};

void closing_add(struct text *out, const struct closing *closing);

#endif
