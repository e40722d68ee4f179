/* The registry of analyses: one row each, one function from report to table. To add one, add a file and a row. */
#ifndef TACHO_ANALYZE_ANALYZE_H
#define TACHO_ANALYZE_ANALYZE_H

#include "../base/error.h"
#include "../report/reader.h"
#include "table.h"

/* Options given behind a report's name (nvtx_sum:rows=5): name and value, value NULL for a bare flag. */
struct analysis_option { const char *name, *value; };

struct analysis_request {
    const struct analysis_option *options;
    size_t option_count;
    const struct report_span *span; /* NULL: all of the report */
};

struct analysis {
    const char *name;         /* nvtx_sum */
    const char *old_name;     /* nvtxsum, or NULL */
    const char *title;        /* NVTX Range Summary */
    const char *usage;        /* [:rows=<limit>], or "" */
    const char *help;         /* one paragraph for --help-reports */
    const char *data;         /* the word in "does not contain <data> data" */
    const char *const *tables;/* report tables of which at least one must have rows, NULL-terminated */
    int by_default;           /* place in the default list, from 1; 0: not in it */
    /* A table without rows when the tables are there but hold nothing for this report. */
    int (*run)(struct report *report, const struct analysis_request *request, struct table **out, struct error *err);
};

extern const struct analysis *const analyses[]; /* NULL-terminated */

/* By name, old name included; NULL if there is none. */
const struct analysis *analysis_find(const char *name);

/* Checks that the data is there, then runs. Without any it is ERR_NO_DATA, with a sentence in err. */
int analysis_run(const struct analysis *analysis, struct report *report, const struct analysis_request *request,
                 struct table **out, struct error *err);

#endif
