/* Findings: what the rules say about a report, in one list, the largest saving first; and the answer of each rule.
 *
 *     struct findings findings = { 0 };
 *     code = findings_read(&findings, &adviser, &(struct findings_request){ .part = request }, err);
 *     … findings.list, findings.answers …
 *     findings_free(&findings);
 *
 * A late rank of a job comes first, then causes that the replay judged, by what they save; then the other rules, by
 * their impact, a finding each.
 * advice_sum, rule_sum, the formats of `tacho analyze`, --fail-if and `tacho diff --advice` all read this list. */
#ifndef TACHO_ANALYZE_FINDINGS_FINDINGS_H
#define TACHO_ANALYZE_FINDINGS_FINDINGS_H

#include "analyze/advice/adviser.h"

/* Starts from {0}. */
struct finding {
    const struct analysis *rule;
    const struct advice_cause *cause; /* of the adviser; NULL: of a rule that is not on the replay */
    struct text what;                 /* a sentence without its full stop; owned, as all texts */
    struct text where;                /* as people read it; empty: not known */
    struct text path;                 /* of that line's file, as it was recorded; empty: not known */
    int64_t line;                     /* 0: not known */
    const char *advice;
    int64_t count;                    /* of its events, or of the rule's rows */
    int64_t impact_ns;                /* of the whole run */
    int64_t rank_ns;                  /* what it is sorted by; less than the impact of causes outside of the program */
};

/* The three answers of a rule. A rule on another kind of program gives none. */
enum finding_answer { ANSWER_PROBLEM, ANSWER_NO_PROBLEM, ANSWER_NOT_CHECKED, FINDING_ANSWERS };
extern const char *const finding_answer_names[FINDING_ANSWERS];

struct rule_answer {
    const struct analysis *rule;
    enum finding_answer answer;
    const struct analysis_need *missing; /* of ANSWER_NOT_CHECKED */
};

/* The table of a rule that is not on the replay, from the whole report, with all rows. */
struct rule_table {
    const struct analysis *rule;
    struct table *table; /* owned; NULL: it was handed over */
};

/* Starts from {0}. */
struct findings {
    struct finding *list;              /* owned */
    size_t count, room;
    struct rule_answer *answers;       /* owned; in the order of the rules */
    size_t answer_count, answer_room;
    const struct analysis **unchecked; /* owned; rules that saw only when they ran that they lack data */
    size_t unchecked_count, unchecked_room;
    struct rule_table *tables;         /* owned; none unless the request keeps them */
    size_t table_count, table_room;
};

/* A rule, with the options after its name. */
struct finding_choice {
    const struct analysis *rule;
    const struct analysis_option *options;
    size_t option_count;
};

struct findings_request {
    const struct analysis_request *part;  /* steps, span and filter; its options do not count */
    const struct finding_choice *choices; /* count 0: all rules but those that list events */
    size_t count;
    /* Changes causes that were judged, and judges them again; NULL: nothing does. */
    int (*refine)(void *context, struct adviser *adviser, struct error *err);
    void *context;
    int keeps_tables; /* of the rules that ran without options, in findings.tables */
};

/* Runs rules with an adviser that is open. Free the findings before the adviser, also after an error. */
int findings_read(struct findings *findings, struct adviser *adviser, const struct findings_request *request,
                  struct error *err);
void findings_free(struct findings *findings);

/* The findings of all rules, with their adviser, that several reports print: the rules run once. Starts from {0}; one
 * thread uses it. */
struct findings_share {
    struct adviser adviser;
    struct findings findings;
    struct report *report;           /* that they were read from; NULL: they were not read yet */
    struct analysis_request request; /* the part of it: span and filter must be the same ones to be equal */
};
void findings_share_free(struct findings_share *share);

/* The findings of all rules on a part of a report: those of the request's share, which the first call reads; or *own,
 * which the caller frees in any case, if the request has no share, or the share is of another part. */
int findings_get(struct findings_share **out, struct findings_share *own, struct report *report,
                 const struct analysis_request *request, struct error *err);

/* Runs a report or a rule as analysis_run() does, unless the request's share has the rule's table already. */
int findings_run(const struct analysis *analysis, struct report *report, const struct analysis_request *request,
                 struct table **out, struct error *err);

/* Whether a rule that is not on the replay has so many rows to read that only the adviser's window of them is read, if
 * it has one. */
int findings_reads_part(const struct analysis *rule, struct report *report);

/* "≤ 13.4 ms, about 12.1 ms per step, 72 % (measured)"; of a rule that is not on the replay "2.10 s of the run". */
void finding_add_saving(struct text *out, const struct finding *finding, const struct adviser *adviser);

#endif
