/* Code that the rules share: their options, and the table of their findings. */
#ifndef TACHO_ANALYZE_RULES_RULE_H
#define TACHO_ANALYZE_RULES_RULE_H

#include "analyze/engine/analysis.h"
#include "analyze/model/filter.h"
#include "analyze/model/sched_times.h"
#include "analyze/model/stacks/stacks.h"
#include "analyze/model/threads.h"

#define RULE_OPTIONS "[:rows=<limit>][:start=<ns>][:end=<ns>][:nvtx=<range[@domain]>]"

/* The rows of a table, unless the request says how many. */
enum { RULE_ROWS = 50 };

struct rule {
    struct analysis_request request; /* with the span and the filter that the options ask for */
    struct report_span span;
    struct analysis_filter only;
    int64_t rows;                    /* most rows to show; -1: all */
};

/* Reads rows, start, end, nvtx, process and thread. The request points into the rule, so the rule must not be moved. */
int rule_open(struct rule *rule, struct report *report, const struct analysis_request *request, struct error *err);

/* Sorts the table, drops rows beyond the limit, numbers the rows if the first column is "Row#", and hands the table
 * over. If code is not 0, deletes the table, which may be NULL, and returns the error. */
int rule_finish(const struct rule *rule, struct table *table, int code, struct table_order order, struct table **out,
                struct error *err);

/* The search of a rule on CPUs begins with this. */
struct rule_search {
    struct report *report;   /* set by the rule */
    struct rule rule;
    struct report_span time; /* the part of the capture's time that the rule looks at */
    struct filter filter;    /* passes what is asked for */
    int64_t percent;         /* the option threshold */
};

/* The steps of such a rule; `search` is its own structure. fill may return ERR_NO_MEMORY without a message. */
struct rule_steps {
    const struct table_column *columns; /* the first is "Impact" */
    size_t column_count;
    int64_t percent;                    /* the threshold, unless the request has one */
    const char *things;                 /* "the processes": memory may not be enough for them */
    int (*read)(void *search, struct error *err);
    int (*fill)(void *search, struct table *table, struct error *err);
    void (*free)(void *search);         /* after an error too */
};
int rule_run(const struct rule_steps *steps, struct rule_search *search, const struct analysis_request *request,
             struct table **out, struct error *err);

/* The scheduling of the threads that the request asks for. *times is to be freed. */
int rule_sched_times(const struct rule_search *search, struct sched_times *times, struct error *err);

/* Whether a time is at least the threshold's share of the capture. */
int rule_is_enough(const struct rule_search *search, int64_t time_ns);

/* Set a cell to "worker (17)", to "function (file.c:12)" (NO_KEY: leave it), to the base name of a process's program.
 * ERR_NO_MEMORY or 0. */
int rule_set_thread(struct table *table, struct table_cell *cell, const struct thread_names *names,
                    struct report *report, int64_t thread);
int rule_set_frame(struct table *table, struct table_cell *cell, const struct stacks *stacks, uint32_t frame);
int rule_set_program(struct table *table, struct table_cell *cell, const struct process_names *names,
                     struct report *report, int64_t process);

/* The recorded time; INT64_MAX if the report does not say. */
int rule_capture_time(struct report *report, int64_t *out, struct error *err);

/* The part of the capture's time that the rule looks at: for rules whose thresholds are shares of it. */
int rule_time(const struct rule *rule, struct report *report, struct report_span *out, struct error *err);

/* Appends a sentence about a row, without its full stop. */
void rule_finding(struct text *out, const struct analysis *rule, const struct table *table, size_t row);

/* How to act on a row. */
const char *rule_advice(const struct analysis *rule, const struct table *table, size_t row);
/* Appends how to act on the rows of a table, each advice once. */
void rule_add_advice(struct text *out, const struct analysis *rule, const struct table *table);

/* Appends `before` and the text of a cell, unless that is empty. */
void rule_add_text(struct text *out, const char *before, const struct table_cell *cell);

/* Appends "make (2100)", or "process 2100". */
void rule_add_process(struct text *out, const struct table_cell *program, const struct table_cell *pid);

#endif
