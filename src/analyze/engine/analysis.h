/* An analysis is a report or a rule: one function from a report to a table, the tables that it needs, and the texts
 * about it. */
#ifndef TACHO_ANALYZE_ENGINE_ANALYSIS_H
#define TACHO_ANALYZE_ENGINE_ANALYSIS_H

#include "base/error.h"
#include "report/reader/reader.h"
#include "request.h"
#include "table.h"

struct text;
struct summary_shape;

/* Tables of which at least one must have rows, NULL-terminated, and the data that a report without them "does not
 * contain". */
struct analysis_need {
    const char *data; /* "CUDA trace data" */
    const char *const *tables;
};

/* For the tables of a need that no other code names. */
#define TABLES(...) ((const char *const[]){ __VA_ARGS__, NULL })

/* What a rule is about: of a capture with very many events, rules on what happens all the time read no more than the
 * adviser's window (analyze/findings). */
enum rule_scope { RULE_OF_ALL_TIMES, RULE_OF_START, RULE_OF_RUN };

/* The texts of a rule about its rows. */
struct analysis_rule {
    const char *advice, *praise; /* how to act on the rows; the good news if there are none */
    const char *meaning;         /* the meaning of a row, as the begin of a sentence; NULL: finding() says it */
    /* Appends a sentence about a row, without its full stop: how much, of what, who and where. */
    void (*finding)(struct text *out, const struct table *table, size_t row);
    /* Each may be NULL: how to act on a row, if that depends on it; whether the cause of a row lies outside of the
     * program. */
    const char *(*advise)(const struct table *table, size_t row);
    int (*is_outside)(const struct table *table, size_t row);
    enum rule_scope scope;
    int is_each;     /* each of its rows is a finding of its own, at the place in its column Where; other rules have one
                      * finding, about the largest */
    int is_listing;  /* lists events, as nsys does; rules on the replay say what they cost */
    int is_of_torch; /* what it finds, only programs that use PyTorch have */
    int is_replayed; /* a rule on the replay: this is part of a struct adviser_rule (advice/adviser.h) */
};

/* For the row of a rule: .rule = ANALYSIS_RULE(.advice = …, .praise = …). */
#define ANALYSIS_RULE(...) &(const struct analysis_rule){ __VA_ARGS__ }

struct analysis {
    const char *name;              /* nvtx_sum */
    const char *title;             /* NVTX Range Summary */
    const char *usage;             /* its options, [:base|:mangled]; NULL: it has none of its own. analysis_usage() */
    const char *help;              /* one paragraph for --help-reports */
    struct analysis_need needs[4]; /* all of them; the first that is not met is named.
                                    * Ends with one without data */
    int is_of_one_job;             /* its rows are about several ranks at once: refused for reports of several jobs */
    int is_of_gpus;                /* without options its rows are only about work on GPUs, whatever else it needs */
    const char *overlap;           /* why figures must not be added up over rows ("ranges contain each other"); NULL:
                                    * they may be */
    int by_default;                /* place in the default list, from 1; 0: not in it */
    const char *default_where;     /* in the default list only if the report meets all needs and has rows in this
                                    * table; NULL: always, as with nsys */
    /* In default lists only if this returns 1; NULL: always. */
    int (*is_worth_showing)(struct report *report);
    struct analysis_option for_people; /* given before the user's options where a table is printed for people, or {0} */
    size_t default_rows;               /* rows that the default list shows, with a count of the others; 0: all */
    /* Returns a table without rows if the tables are there but hold nothing for this analysis. */
    int (*run)(struct report *report, const struct analysis_request *request, struct table **out, struct error *err);
    /* The same where several analyses share the function: `as` says what makes this one. */
    int (*run_as)(struct report *report, const struct analysis_request *request, const void *as, struct table **out,
                  struct error *err);
    const void *as;
    /* The shape of its table if that comes from summary_deliver(): parts of a set can then be summarized by several
     * processes, and merged (summary_partial.h). NULL: one process reads the whole set. */
    const struct summary_shape *divides;
    const struct analysis_rule *rule; /* NULL: a report */
};

/* Its options as text, "" if it has none of its own. */
static inline const char *analysis_usage(const struct analysis *analysis)
{
    return analysis->usage ?: "";
}

/* Whether it is a rule on the replay. */
static inline int analysis_is_replayed(const struct analysis *analysis)
{
    return analysis->rule && analysis->rule->is_replayed;
}

/* Runs it without the checks of analysis_run(). */
static inline int analysis_run_unchecked(const struct analysis *analysis, struct report *report,
                                         const struct analysis_request *request, struct table **out, struct error *err)
{
    return analysis->run ? analysis->run(report, request, out, err)
                         : analysis->run_as(report, request, analysis->as, out, err);
}

/* The first need that the report does not meet, or NULL. */
const struct analysis_need *analysis_missing(const struct analysis *analysis, struct report *report);

/* The rows of all tables that it needs. */
uint64_t analysis_rows(const struct analysis *analysis, struct report *report);

/* Whether the report has rows for a need. */
int analysis_need_is_met(const struct analysis_need *need, struct report *report);

/* The option of `tacho profile` that records a table ("--trace=osrt"); NULL: Tacho does not record it. */
const char *analysis_table_option(const char *table);
/* The same for a need: that of its first table. */
const char *analysis_need_option(const struct analysis_need *need);

/* Whether it is in the default list of this report. */
int analysis_is_default(const struct analysis *analysis, struct report *report);

/* Checks that the options are known and the data is there, then runs. Without data it is ERR_NO_DATA, with a sentence
 * in err. */
int analysis_run(const struct analysis *analysis, struct report *report, const struct analysis_request *request,
                 struct table **out, struct error *err);

/* The table that analysis_run() returns for the whole set, from the partial results of all its parts. Only for an
 * analysis that divides. */
int analysis_merge(const struct analysis *analysis, struct report *whole, const struct analysis_request *request,
                   const struct analysis_partial *partials, size_t count, struct table **out, struct error *err);

#endif
