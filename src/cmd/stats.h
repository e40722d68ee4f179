/* Printing reports' tables: what `stats` does, and `profile --stats=true` after a capture. */
#ifndef TACHO_CMD_STATS_H
#define TACHO_CMD_STATS_H

#include "../analyze/analyze.h"
#include "print.h"

struct stats_style {
    const struct print_format *format;
    struct print_request request;
    int quiet; /* tables only */
};

/* Adds one report's table, or why there is none, to out; of a rule, its advice too. Only a failure of the analysis itself is an error. */
int stats_print(struct text *out, struct report *report, const char *path, const struct analysis *analysis,
                const struct analysis_request *request, const struct stats_style *style, struct error *err);

/* The reports that are shown when none is asked for, in order; NULL-terminated, room for as many as there are. */
size_t stats_defaults(const struct analysis **out, size_t room);

#endif
