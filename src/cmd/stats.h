/* Printing reports' tables: what `stats` does, and `profile --stats=true` after a capture. */
#ifndef TACHO_CMD_STATS_H
#define TACHO_CMD_STATS_H

#include "analyze/engine/analysis.h"
#include "cmd/print/print.h"

struct stats_style {
    const struct print_format *format;
    struct print_request request;
    int quiet;      /* tables only */
    int by_default; /* nobody asked for it by name: its first rows may do */
};

/* Adds one report's table, or why there is none, to out; of a rule, its advice too. Only a failure of the
 * analysis itself is an error. */
int stats_print(struct text *out, struct report *report, const char *path, const struct analysis *analysis,
                const struct analysis_request *request, const struct stats_style *style, struct error *err);

#endif
