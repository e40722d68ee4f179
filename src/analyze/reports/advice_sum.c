/* advice_sum: what to change first. Causes that a replay judged come first, by what they save; then the other rules
 * that found something, by their impact. */
#include "advice_sum.h"

#include <stdlib.h>

#include "analyze/engine/cell_text.h"
#include "analyze/registry.h"
#include "analyze/rules/rule.h"
#include "analyze/rules/rule_impact.h"
#include "base/human.h"

enum { IMPACT, SAVES, ABOUT, CONFIDENCE, FOUND, RULE, FINDING, WHERE, ADVICE, CELLS };
enum { MOMENT_NS = 100000 }; /* how exactly a finding is placed */

/* The moment of a row: where to look on the timeline. */
static void add_moment(struct text *out, const struct table *found, size_t row)
{
    const struct table_cell *cells = table_row(found, row);

    for (size_t c = 0; c < table_column_count(found); c++)
        if (table_columns(found)[c].unit == UNIT_TIME && cells[c].kind == CELL_INT) {
            text_add(out, ", at ");
            human_moment(out, cells[c].integer, MOMENT_NS);
            return;
        }
}

/* What one rule found. */
struct findings {
    const struct analysis *rule;
    size_t number;       /* of the rule: decides between two that took all of the capture */
    struct table *found; /* owned */
    struct rule_impact impact;
};

/* "lock 0x7f10: 3 threads waited 756 ms …, at 1.2034 s (the largest of 2; 1.10 s together)". Returns the advice. */
static const char *add_finding(struct text *out, const struct findings *findings)
{
    const struct analysis *rule = findings->rule;
    const struct table *found = findings->found;
    size_t largest = findings->impact.order[0];

    rule_finding(out, rule, found, largest);
    add_moment(out, found, largest);
    if (table_row_count(found) > 1) {
        text_add(out, " (the largest of ");
        human_count(out, table_row_count(found));
        text_add(out, "; ");
        human_time(out, findings->impact.all);
        text_add(out, " together)");
    }
    return rule_advice(rule, found, largest);
}

/* Whether a finding stands behind a smaller one that is no cause. */
static int is_demoted(const struct table *table, const struct findings *findings)
{
    size_t rows = table_row_count(table);
    const struct table_cell *last = rows ? table_row(table, rows - 1) : NULL;

    return last && last[CONFIDENCE].kind == CELL_NONE && last[IMPACT].integer < findings->impact.all;
}

static int add_row(struct table *table, const struct findings *findings)
{
    int demoted = is_demoted(table, findings);
    struct table_cell *row = table_add_row(table);
    struct text finding = { 0 };
    int code;

    if (!row)
        return ERR_NO_MEMORY;
    cell_set_int(&row[IMPACT], findings->impact.all);
    cell_set_int(&row[FOUND], (int64_t)table_row_count(findings->found));
    if (demoted)
        text_add(&finding, "outside of the program (listed last): ");
    const char *advice = add_finding(&finding, findings);
    if ((code = cell_set_built(table, &row[FINDING], &finding)) != 0 ||
        (code = cell_set_string(table, &row[RULE], findings->rule->name)) != 0)
        goto free_finding;
    code = cell_set_string(table, &row[ADVICE], advice);
free_finding:
    text_free(&finding);
    return code;
}

/* ---- causes ---------------------------------------------------------------------------------------------------- */

static int add_cause(struct table *table, const struct adviser *adviser, const struct advice_cause *cause)
{
    struct table_cell *row = table_add_row(table);
    struct text finding = { 0 };

    if (!row)
        return ERR_NO_MEMORY;
    cell_set_int(&row[IMPACT], saturating_multiply(cause->bound_ns, (int64_t)adviser->step_count));
    cell_set_int(&row[FOUND], cause->count);
    if (cause->confidence != ADVICE_TRY) {
        cell_set_int(&row[SAVES], cause->bound_ns);
        cell_set_int(&row[ABOUT], cause->estimate_ns);
    }
    text_add(&finding, text_string(&cause->what));
    if (cause->rate.length)
        text_addf(&finding, " (%s)", text_string(&cause->rate));
    int code = cell_set_built(table, &row[FINDING], &finding);
    text_free(&finding);
    if (code != 0 || cell_set_string(table, &row[CONFIDENCE], advice_confidence_names[cause->confidence]) != 0 ||
        cell_set_string(table, &row[RULE], cause->rule->name) != 0 ||
        cell_set_built(table, &row[WHERE], &cause->where) != 0)
        return ERR_NO_MEMORY;
    return cell_set_string(table, &row[ADVICE], cause->advice);
}

/* Runs the rules on the replay. */
static int add_causes(struct table *table, struct adviser *adviser, struct error *err)
{
    int code;

    for (size_t i = 0; rules[i]; i++)
        if (rules[i]->find && !analysis_missing(rules[i], adviser->report) &&
            (code = adviser_find(adviser, rules[i], err)) != 0)
            return code;
    if ((code = adviser_judge(adviser, err)) != 0)
        return code;
    for (size_t i = 0; i < adviser->count; i++)
        if ((code = add_cause(table, adviser, &adviser->causes[i])) != 0)
            return code;
    return 0;
}

/* ---- other rules ----------------------------------------------------------------------------------------------- */

/* Runs a rule. Without data it finds nothing. */
static int run_rule(struct findings *findings, struct report *report, const struct analysis_request *request,
                    int64_t capture_ns, struct rule_shared *shared, struct error *err)
{
    int code;

    if (findings->rule->find || findings->rule->is_listing || analysis_missing(findings->rule, report))
        return 0;
    if ((code = analysis_run(findings->rule, report, request, &findings->found, err)) != 0)
        return code;
    return rule_impact_read(&findings->impact, findings->rule, report, findings->found, capture_ns, shared, err);
}

static int by_rank(const void *a, const void *b)
{
    const struct findings *x = a, *y = b;

    if (x->impact.rank != y->impact.rank)
        return x->impact.rank < y->impact.rank ? 1 : -1;
    if (x->impact.all != y->impact.all)
        return x->impact.all < y->impact.all ? 1 : -1;
    return (x->number > y->number) - (x->number < y->number);
}

/* Runs all rules, and adds what costs time. */
static int fill_from(struct table *table, struct findings *list, size_t count, struct adviser *adviser,
                     const struct analysis_request *request, struct rule_shared *shared, struct error *err)
{
    struct report *report = adviser->report;
    int64_t capture_ns;
    int code;

    if ((code = rule_capture_time(report, &capture_ns, err)) != 0 || (code = add_causes(table, adviser, err)) != 0)
        return code;
    for (size_t i = 0; i < count; i++) {
        list[i].rule = rules[i];
        list[i].number = i;
        if ((code = run_rule(&list[i], report, request, capture_ns, shared, err)) != 0)
            return code;
    }
    qsort(list, count, sizeof *list, by_rank);
    for (size_t i = 0; i < count; i++)
        if (list[i].impact.all > 0 && (code = add_row(table, &list[i])) != 0)
            return code;
    return 0;
}

static int fill_table(struct table *table, struct adviser *adviser, const struct analysis_request *request,
                      struct error *err)
{
    struct rule_shared shared = { 0 };
    size_t count = 0;

    while (rules[count])
        count++;
    struct findings *list = calloc(count + 1, sizeof *list);
    if (!list)
        return ERR_NO_MEMORY;
    int code = fill_from(table, list, count, adviser, request, &shared, err);
    rule_shared_free(&shared);
    for (size_t i = 0; i < count; i++) {
        table_delete(list[i].found);
        rule_impact_free(&list[i].impact);
    }
    free(list);
    return code;
}

int advice_sum_of(struct adviser *adviser, const struct analysis_request *request, struct table **out,
                  struct error *err)
{
    static const struct table_column columns[CELLS] = {
        [IMPACT] = { "Impact", CELL_INT, UNIT_NS, 0 },      [SAVES] = { "Saves per Step", CELL_INT, UNIT_NS, 0 },
        [ABOUT] = { "About", CELL_INT, UNIT_NS, 0 },        [CONFIDENCE] = { "Confidence", CELL_TEXT, UNIT_NONE, 0 },
        [FOUND] = { "Found", CELL_INT, UNIT_NONE, 0 },      [RULE] = { "Rule", CELL_TEXT, UNIT_NONE, 0 },
        [FINDING] = { "Finding", CELL_TEXT, UNIT_NONE, 0 }, [WHERE] = { "Where", CELL_TEXT, UNIT_NONE, 0 },
        [ADVICE] = { "Advice", CELL_TEXT, UNIT_NONE, 0 },
    };
    static const struct analysis_option all = { "rows", "-1" };
    const struct analysis_request each = {
        .options = &all, .option_count = 1, .span = request->span, .filter = request->filter
    };
    struct table *table = table_new(columns, CELLS);

    return table_hand_over(table, table ? fill_table(table, adviser, &each, err) : ERR_NO_MEMORY, out, err);
}

static int advice_sum(struct report *report, const struct analysis_request *request, struct table **out,
                      struct error *err)
{
    struct adviser adviser;
    int code = adviser_open(&adviser, report, request, err);

    if (code != 0)
        return code;
    code = advice_sum_of(&adviser, request, out, err);
    adviser_free(&adviser);
    return code;
}

static const char *const advice_tables[] = {
    "CUPTI_ACTIVITY_KIND_RUNTIME",
    "CUPTI_ACTIVITY_KIND_KERNEL",
    "CUPTI_ACTIVITY_KIND_MEMCPY",
    "CUPTI_ACTIVITY_KIND_MEMSET",
    "OSRT_API",
    "SCHED_EVENTS",
    "TACHO_THREAD_SCHED",
    "TACHO_PYTHON_SAMPLE",
    "TACHO_PROCESS",
    NULL,
};
const struct analysis analysis_advice_sum = {
    .name = "advice_sum",
    .title = "Advice by Impact",
    .usage = "",
    .help = "What to change first. The first rows are causes that a replay of the run judged: Saves per Step is what a "
            "step would take less without the cause, About what usually remains of that. Rows of other rules follow, "
            "with a sentence about the largest finding of each; Impact is the wall time in which at least one thread "
            "waited, at most the length of the capture. Rows can overlap. A cause outside of the program comes last, "
            "unless it took half of the capture.",
    .needs = { { "data that a rule needs", advice_tables } },
    .overlap = "findings overlap",
    .run = advice_sum,
};
