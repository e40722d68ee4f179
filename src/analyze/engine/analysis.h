/* The registries of analyses, reports and rules: one row each, one function from report to table. To add
 * one, add a file and a row. */
#ifndef TACHO_ANALYZE_ENGINE_ANALYSIS_H
#define TACHO_ANALYZE_ENGINE_ANALYSIS_H

#include "base/error.h"
#include "report/reader/reader.h"
#include "table.h"

/* Options given behind a report's name (um_sum:rows=5): name and value, value NULL for a bare flag. */
struct analysis_option {
    const char *name, *value;
};

struct steps;

/* What the events must be of, where that is asked for. A device or a stream says nothing of what runs on the CPU; a
 * thread is, for work on a GPU, the one that launched it, and a step the one in which it was launched. */
enum { ONLY_PID = 1, ONLY_TID = 2, ONLY_DEVICE = 4, ONLY_STREAM = 8, ONLY_STEPS = 16 };
struct analysis_filter {
    int only;                  /* ONLY_ bits: which of these count */
    int64_t pid, tid, device, stream;
    const struct steps *steps; /* ONLY_STEPS: those chosen; without it, those that reports on steps
                                * shall show. May be NULL then */
};

struct analysis_request {
    const struct analysis_option *options;
    size_t option_count;
    const struct report_span *span;       /* NULL: all of the report; else what overlaps it */
    const struct analysis_filter *filter; /* NULL: all of it */
};

/* Tables of which at least one must have rows, NULL-terminated, and what a report without them "does not contain". */
struct analysis_need {
    const char *data; /* "CUDA trace data" */
    const char *const *tables;
};

struct analysis {
    const char *name;              /* nvtx_sum */
    const char *old_name;          /* nvtxsum, or NULL */
    const char *title;             /* NVTX Range Summary */
    const char *usage;             /* [:rows=<limit>], or "" */
    const char *help;              /* one paragraph for --help-reports */
    struct analysis_need needs[3]; /* all of them; the first that is not met is named.
                                    * Ends with one without data */
    int is_of_gpus;                /* without options it tells of work on GPUs
                                    * alone, whatever else it needs */
    int by_default;                /* place in the default list, from 1; 0: not in it */
    const char *default_where;     /* in it only of a report that has all it needs and rows in this table;
                                    * NULL: always, as with nsys */
    size_t default_rows;           /* as many are shown there, and how many more there are; 0: all */
    /* A table without rows when the tables are there but hold nothing for this report. */
    int (*run)(struct report *report, const struct analysis_request *request, struct table **out, struct error *err);
    const char *advice, *praise;                /* of a rule: what to do about the rows, and what it means that
                                                 * there are none; else NULL */
};

extern const struct analysis *const analyses[]; /* the reports; NULL-terminated */
extern const struct analysis *const rules[];    /* the rules, in the order in which they are run; NULL-terminated */

/* By name, old name included; NULL if there is none. */
const struct analysis *analysis_find(const char *name);
const struct analysis *rule_find(const char *name);

/* The first need that the report does not meet, or NULL. */
const struct analysis_need *analysis_missing(const struct analysis *analysis, struct report *report);

/* Checks that the options are known and the data is there, then runs. Without data it is ERR_NO_DATA, with a sentence
 * in err. */
int analysis_run(const struct analysis *analysis, struct report *report, const struct analysis_request *request,
                 struct table **out, struct error *err);

/* Those of the default list that count for a report, in order; NULL-terminated, room for as many as
 * there are. Returns how many. */
size_t analysis_defaults(struct report *report, const struct analysis **out, size_t room);

/* The time of an NVTX range given as RANGE[@DOMAIN][/INDEX]: INDEX counts from 0 by start, a backslash takes the
 * meaning from an @ or a /. Without a DOMAIN the default one is meant, or any if that has no such range; * is any.
 * ERR_NOT_FOUND if there is no such range. */
int analysis_nvtx_span(struct report *report, const char *range, struct report_span *out, struct error *err);

#endif
