/* Runs the rules and lists what they found: see findings.h. */
#include "findings.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/engine/report_options.h"
#include "analyze/model/metrics/gpu_metrics.h"
#include "analyze/registry.h"
#include "analyze/rules/rule.h"
#include "analyze/rules/rule_impact.h"
#include "analyze/rules/rule_state.h"
#include "base/array.h"
#include "base/human.h"
#include "report/reader/window.h"

enum { MOMENT_NS = 100000 }; /* how exactly a finding is placed */

const char *const finding_answer_names[FINDING_ANSWERS] = {
    [ANSWER_PROBLEM] = "problem",
    [ANSWER_NO_PROBLEM] = "no problem",
    [ANSWER_NOT_CHECKED] = "not checked",
};

static int findings_no_memory(struct error *err)
{
    return error_short_memory(err, "for the findings");
}

static void free_finding(struct finding *finding)
{
    text_free(&finding->what);
    text_free(&finding->where);
    text_free(&finding->path);
}

void findings_free(struct findings *findings)
{
    for (size_t i = 0; i < findings->count; i++)
        free_finding(&findings->list[i]);
    free(findings->list);
    free(findings->answers);
    free(findings->unchecked);
    for (size_t i = 0; i < findings->table_count; i++)
        table_delete(findings->tables[i].table);
    free(findings->tables);
    *findings = (struct findings){ 0 };
}

/* Takes over the finding, also after an error. */
static int findings_add(struct findings *findings, struct finding *finding, struct error *err)
{
    if (text_failed(&finding->what) || text_failed(&finding->where) || text_failed(&finding->path) ||
        array_reserve(&findings->list, &findings->room, findings->count + 1, sizeof *findings->list) != 0) {
        free_finding(finding);
        return findings_no_memory(err);
    }
    findings->list[findings->count++] = *finding;
    return 0;
}

/* ---- causes ---------------------------------------------------------------------------------------------------- */

/* Sets the file and the line of a cause. It names its place in words, so that this is the place with these words; none
 * if two files of one name have it. */
static void findings_find_line(struct finding *finding, const struct places *places)
{
    struct text words = { 0 };

    for (uint32_t i = 0; i < places->keys.count; i++) {
        struct place place = places_get(places, i);
        const char *path = places_string(places, place.file);
        text_clear(&words);
        place_text(&words, places, i);
        if (place.line <= 0 || !*path || strcmp(text_string(&words), text_string(&finding->where)) != 0)
            continue;
        if (finding->path.length && strcmp(text_string(&finding->path), path) != 0) {
            text_clear(&finding->path);
            finding->line = 0;
            break;
        }
        text_clear(&finding->path);
        text_add(&finding->path, path);
        finding->line = place.line;
    }
    text_free(&words);
}

static int findings_add_cause(struct findings *findings, const struct adviser *adviser,
                              const struct advice_cause *cause, struct error *err)
{
    struct finding finding = { .rule = cause->rule, .cause = cause, .advice = cause->advice, .count = cause->count };

    finding.impact_ns = saturating_multiply(cause->bound_ns, adviser_run_steps(adviser));
    text_add(&finding.what, text_string(&cause->what));
    if (cause->rate.length)
        text_addf(&finding.what, " (%s)", text_string(&cause->rate));
    text_add(&finding.where, text_string(&cause->where));
    if (adviser->has_places && finding.where.length)
        findings_find_line(&finding, &adviser->places);
    return findings_add(findings, &finding, err);
}

static int findings_add_causes(struct findings *findings, struct adviser *adviser,
                               const struct findings_request *request, struct error *err)
{
    int code;

    for (size_t i = 0; i < request->count; i++) {
        const struct finding_choice *choice = &request->choices[i];
        const struct analysis_request options = { .options = choice->options, .option_count = choice->option_count };
        if (!analysis_is_replayed(choice->rule) || analysis_missing(choice->rule, adviser->whole))
            continue;
        adviser->options = &options;
        code = adviser_find(adviser, choice->rule, err);
        adviser->options = NULL;
        if (code != 0)
            return code;
    }
    if ((code = adviser_judge(adviser, err)) != 0 ||
        (request->refine && (code = request->refine(request->context, adviser, err)) != 0))
        return code;
    for (size_t i = 0; i < adviser->count; i++)
        if ((code = findings_add_cause(findings, adviser, &adviser->causes[i], err)) != 0)
            return code;
    return 0;
}

/* ---- other rules ----------------------------------------------------------------------------------------------- */

/* What a rule reads of a long capture. One that needs few rows reads the whole, as rules about the run do. The others
 * read the adviser's window, or the start; what they find there is multiplied by the share of the run that it is. */
struct rule_part {
    struct report *report;
    const struct report_span *span; /* NULL: that of the request */
    int64_t time_ns;                /* of the part */
    double times;                   /* that the run has of it */
    int is_window;
};

/* A rule that needs more than MOST_ROWS reads a part. The start of a capture lasts until AFTER_START_NS after its first
 * work on a GPU. */
enum { MOST_ROWS = 4000000, AFTER_START_NS = 1000000000 };

struct rule_parts {
    struct adviser *adviser;
    int64_t capture_ns;
    struct report *start; /* owned; opened for the first rule that reads it */
};

int findings_reads_part(const struct analysis *rule, struct report *report)
{
    return rule->rule->scope != RULE_OF_RUN && analysis_rows(rule, report) > MOST_ROWS;
}

static int open_start(struct rule_parts *parts, struct error *err)
{
    struct report *whole = parts->adviser->whole;
    int64_t first_ns = INT64_MAX;

    if (parts->start)
        return 0;
    for (const char *const *name = advice_work_tables; *name; name++) {
        const struct report_table *table = report_table(whole, *name);
        if (table && table->first_ns <= table->last_ns && table->first_ns < first_ns)
            first_ns = table->first_ns;
    }
    const struct report_span span = { INT64_MIN, saturating_add(first_ns, AFTER_START_NS) };
    return report_open_window(whole, &span, NULL, &parts->start, err);
}

static int choose_part(struct rule_part *out, struct rule_parts *parts, const struct analysis *rule, struct error *err)
{
    struct adviser *adviser = parts->adviser;
    const struct report_span *window = &adviser->window_span;
    int code;

    *out = (struct rule_part){ adviser->whole, NULL, parts->capture_ns, 1, 0 };
    if (!adviser->window || !findings_reads_part(rule, adviser->whole))
        return 0;
    if (rule->rule->scope == RULE_OF_START) {
        if ((code = open_start(parts, err)) == 0)
            out->report = parts->start;
        return code;
    }
    int64_t window_ns = saturating_duration(window->from_ns, window->to_ns);
    double steps = (double)adviser->steps->count;
    out->report = adviser->window;
    out->span = window;
    out->time_ns = window_ns;
    out->times = steps > 0 ? (double)adviser->steps_of_run / steps
                           : (double)parts->capture_ns / (double)(window_ns + 1);
    out->is_window = 1;
    return 0;
}

/* The findings of one rule. */
struct rule_rows {
    const struct analysis *rule;
    size_t number;       /* of the rule: decides between two that took all of the capture */
    struct table *found; /* owned */
    struct rule_impact impact;
    int is_of_window;
    int is_kept;         /* other reports may have its table */
};

/* The moment of a row: where to look on the timeline. */
static void findings_add_moment(struct text *out, const struct table *found, size_t row)
{
    const struct table_cell *cells = table_row(found, row);

    for (size_t c = 0; c < table_column_count(found); c++)
        if (table_columns(found)[c].unit == UNIT_TIME && cells[c].kind == CELL_INT) {
            text_add(out, ", at ");
            human_moment(out, cells[c].integer, MOMENT_NS);
            return;
        }
}

/* " (the largest of 2; 1.10 s together)" */
static void findings_add_others_of_rule(struct text *out, const struct rule_rows *rows)
{
    text_add(out, " (the largest of ");
    human_count(out, table_row_count(rows->found));
    if (rows->impact.all > 0 && !rows->is_of_window) {
        text_add(out, "; ");
        human_time(out, rows->impact.all);
        text_add(out, " together");
    }
    text_add_char(out, ')');
}

static void findings_add_place(struct text *out, const struct table *found, size_t row)
{
    size_t where = table_find_column(found, "Where");

    if (where != TABLE_NO_COLUMN)
        rule_add_text(out, "", &table_row(found, row)[where]);
}

/* "lock 0x7f10: 3 threads waited 756 ms …, at 1.2034 s (the largest of 2; 1.10 s together)" */
static int findings_add_row(struct findings *findings, const struct rule_rows *rows, size_t row, struct finding finding,
                            const struct adviser *adviser, struct error *err)
{
    size_t count = table_row_count(rows->found);

    rule_finding(&finding.what, rows->rule, rows->found, row);
    findings_add_moment(&finding.what, rows->found, row);
    if (rows->rule->rule->is_each)
        findings_add_place(&finding.where, rows->found, row);
    else if (count > 1)
        findings_add_others_of_rule(&finding.what, rows);
    if (rows->is_of_window)
        adviser_add_window(&finding.what, adviser);
    finding.advice = rule_advice(rows->rule, rows->found, row);
    return findings_add(findings, &finding, err);
}

static int findings_add_rows(struct findings *findings, const struct rule_rows *rows, const struct adviser *adviser,
                             struct error *err)
{
    struct finding finding = { .rule = rows->rule,
                               .count = (int64_t)table_row_count(rows->found),
                               .impact_ns = rows->impact.all,
                               .rank_ns = rows->impact.rank };
    int code = 0;

    if (!rows->rule->rule->is_each)
        return findings_add_row(findings, rows, rows->impact.order[0], finding, adviser, err);
    finding.count = 1;
    for (size_t i = 0; i < table_row_count(rows->found) && code == 0; i++) {
        size_t row = rows->impact.order[i];
        finding.rank_ns = finding.impact_ns = rows->impact.each[row];
        code = findings_add_row(findings, rows, row, finding, adviser, err);
    }
    return code;
}

/* Says of causes outside of the program why they come after smaller ones. */
static int findings_excuse_order(struct findings *findings, size_t first, struct error *err)
{
    for (size_t i = first + 1; i < findings->count; i++) {
        struct finding *finding = &findings->list[i];
        struct text what = { 0 };
        if (finding->impact_ns <= finding[-1].impact_ns)
            continue;
        text_addf(&what, "outside of the program (listed last): %s", text_string(&finding->what));
        text_free(&finding->what);
        finding->what = what;
        if (text_failed(&what))
            return findings_no_memory(err);
    }
    return 0;
}

/* Findings of one rule may lie between those of others. */
static void findings_sort(struct findings *findings, size_t first)
{
    for (size_t i = first + 1; i < findings->count; i++)
        for (size_t k = i; k > first && findings->list[k].rank_ns > findings->list[k - 1].rank_ns; k--) {
            struct finding finding = findings->list[k];
            findings->list[k] = findings->list[k - 1];
            findings->list[k - 1] = finding;
        }
}

/* Remembers that a rule lacks data. */
static int findings_add_unchecked(struct findings *findings, const struct analysis *rule, struct error *err)
{
    if (ARRAY_PUSH(findings->unchecked, findings->unchecked_room, findings->unchecked_count, rule) != 0)
        return findings_no_memory(err);
    return 0;
}

static int is_unchecked(const struct findings *findings, const struct analysis *rule)
{
    size_t i = 0;

    while (i < findings->unchecked_count && findings->unchecked[i] != rule)
        i++;
    return i < findings->unchecked_count;
}

/* Runs a rule. Without data it finds nothing. */
static int findings_run_rule(struct findings *findings, struct rule_rows *rows, const struct finding_choice *choice,
                             struct rule_parts *parts, const struct analysis_request *request_part, struct error *err)
{
    enum { MOST_OPTIONS = 32 };
    struct analysis_option options[MOST_OPTIONS] = { { "rows", "-1" } }; /* all add to the impact */
    struct analysis_request request = { .options = options,
                                        .option_count = 1,
                                        .span = request_part->span,
                                        .filter = request_part->filter,
                                        .metrics = request_part->metrics };
    struct rule_part part;
    int code;

    if (analysis_is_replayed(choice->rule) || analysis_missing(choice->rule, parts->adviser->whole))
        return 0;
    if ((code = choose_part(&part, parts, choice->rule, err)) != 0)
        return code;
    request.span = part.span ? part.span : request.span;
    request.metrics = part.is_window ? NULL : request.metrics;
    for (size_t i = 0; i < choice->option_count && request.option_count < MOST_OPTIONS; i++)
        options[request.option_count++] = choice->options[i];
    if ((code = analysis_run(choice->rule, part.report, &request, &rows->found, err)) == ERR_NO_DATA)
        return part.report == parts->adviser->whole ? findings_add_unchecked(findings, choice->rule, err) : 0;
    if (code != 0)
        return code;
    code = rule_impact_read(&rows->impact, choice->rule, rows->found, part.time_ns, err);
    rows->is_of_window = part.is_window;
    rows->is_kept = part.report == parts->adviser->whole && !choice->option_count;
    rows->impact.all = saturating_from_double((double)rows->impact.all * part.times);
    rows->impact.rank = saturating_from_double((double)rows->impact.rank * part.times);
    return code;
}

static int findings_by_rank(const void *a, const void *b)
{
    const struct rule_rows *x = a, *y = b;
    int order = COMPARE(y->impact.rank, x->impact.rank) ?: COMPARE(y->impact.all, x->impact.all);

    return order ?: COMPARE(x->number, y->number);
}

/* A list of events, which was asked for, is one whatever it costs. */
static int findings_has_finding(const struct rule_rows *rows)
{
    return rows->impact.all > 0 || (rows->found && rows->rule->rule->is_listing && table_row_count(rows->found));
}

static int findings_run_rules(struct findings *findings, struct rule_rows *list, struct rule_parts *parts,
                              const struct findings_request *request, struct error *err)
{
    int code = rule_capture_time(parts->adviser->whole, &parts->capture_ns, err);

    if (code != 0)
        return code;
    for (size_t i = 0; i < request->count; i++) {
        list[i].rule = request->choices[i].rule;
        list[i].number = i;
        if ((code = findings_run_rule(findings, &list[i], &request->choices[i], parts, request->part, err)) != 0)
            return code;
    }
    size_t first = findings->count;
    qsort(list, request->count, sizeof *list, findings_by_rank);
    for (size_t i = 0; i < request->count; i++)
        if (findings_has_finding(&list[i]) && (code = findings_add_rows(findings, &list[i], parts->adviser, err)) != 0)
            return code;
    findings_sort(findings, first);
    return findings_excuse_order(findings, first, err);
}

/* Hands the tables over that other reports may have. */
static int keep_tables(struct findings *findings, struct rule_rows *list, size_t count, struct error *err)
{
    for (size_t i = 0; i < count; i++) {
        if (!list[i].found || !list[i].is_kept)
            continue;
        if (ARRAY_PUSH(findings->tables, findings->table_room, findings->table_count,
                       (struct rule_table){ list[i].rule, list[i].found }) != 0)
            return findings_no_memory(err);
        list[i].found = NULL;
    }
    return 0;
}

static int findings_add_others(struct findings *findings, struct adviser *adviser,
                               const struct findings_request *request, struct error *err)
{
    struct rule_parts parts = { .adviser = adviser };
    struct rule_rows *list = calloc(request->count + 1, sizeof *list);
    struct gpu_metrics_share metrics = { 0 };
    struct analysis_request part = *request->part;
    struct findings_request shared = *request;

    if (!list)
        return findings_no_memory(err);
    part.metrics = &metrics;
    shared.part = &part;
    int code = findings_run_rules(findings, list, &parts, &shared, err);
    if (code == 0 && request->keeps_tables)
        code = keep_tables(findings, list, request->count, err);
    gpu_metrics_share_free(&metrics);
    report_close(parts.start);
    for (size_t i = 0; i < request->count; i++) {
        table_delete(list[i].found);
        rule_impact_free(&list[i].impact);
    }
    free(list);
    return code;
}

/* What holds all ranks of a job up comes first: findings about single ranks may be its result. */
static void findings_put_job_first(struct findings *findings)
{
    for (size_t i = 1; i < findings->count; i++) {
        struct finding found = findings->list[i];
        if (!found.rule->is_of_one_job)
            continue;
        memmove(findings->list + 1, findings->list, i * sizeof found);
        findings->list[0] = found;
    }
}

/* ---- all ------------------------------------------------------------------------------------------------------- */

static int has_found(const struct findings *findings, const struct analysis *rule)
{
    for (size_t i = 0; i < findings->count; i++)
        if (findings->list[i].rule == rule)
            return 1;
    return 0;
}

static int findings_add_answer(struct findings *findings, struct report *report, const struct analysis *rule,
                               struct error *err)
{
    enum rule_state state = rule_state(rule, report);
    struct rule_answer answer = { .rule = rule, .answer = ANSWER_NO_PROBLEM };

    if (state == RULE_FOREIGN)
        return 0;
    if (state == RULE_UNCHECKED || is_unchecked(findings, rule)) {
        answer.answer = ANSWER_NOT_CHECKED;
        answer.missing = state == RULE_UNCHECKED ? analysis_missing(rule, report) : &rule->needs[0];
    } else if (has_found(findings, rule)) {
        answer.answer = ANSWER_PROBLEM;
    }
    if (ARRAY_PUSH(findings->answers, findings->answer_room, findings->answer_count, answer) != 0)
        return findings_no_memory(err);
    return 0;
}

static int read_chosen(struct findings *findings, struct adviser *adviser, const struct findings_request *request,
                       struct error *err)
{
    int code;

    if ((code = findings_add_causes(findings, adviser, request, err)) != 0 ||
        (code = findings_add_others(findings, adviser, request, err)) != 0)
        return code;
    findings_put_job_first(findings);
    for (size_t i = 0; i < request->count; i++)
        if ((code = findings_add_answer(findings, adviser->whole, request->choices[i].rule, err)) != 0)
            return code;
    return 0;
}

int findings_read(struct findings *findings, struct adviser *adviser, const struct findings_request *request,
                  struct error *err)
{
    struct findings_request all = *request;
    size_t count = 0;

    if (request->count)
        return read_chosen(findings, adviser, request, err);
    while (rules[count])
        count++;
    struct finding_choice *choices = calloc(count + 1, sizeof *choices);
    if (!choices)
        return findings_no_memory(err);
    for (size_t i = 0; i < count; i++)
        if (!rules[i]->rule->is_listing)
            choices[all.count++].rule = rules[i];
    all.choices = choices;
    int code = read_chosen(findings, adviser, &all, err);
    free(choices);
    return code;
}

/* ---- shared ---------------------------------------------------------------------------------------------------- */

void findings_share_free(struct findings_share *share)
{
    findings_free(&share->findings);
    adviser_free(&share->adviser);
    share->report = NULL;
}

static int is_of_part(const struct findings_share *share, struct report *report, const struct analysis_request *request)
{
    const struct analysis_request *own = &share->request;

    return share->report == report && own->span == request->span && own->filter == request->filter &&
           own->is_whole == request->is_whole;
}

int findings_get(struct findings_share **out, struct findings_share *own, struct report *report,
                 const struct analysis_request *request, struct error *err)
{
    struct findings_share *share = request->findings;
    int code;

    *own = (struct findings_share){ 0 };
    if (!share || (share->report && !is_of_part(share, report, request)))
        share = own;
    *out = share;
    if (share->report)
        return 0;
    if ((code = adviser_open(&share->adviser, report, request, err)) != 0)
        return code;
    const struct findings_request all = { .part = request, .keeps_tables = share != own };
    if ((code = findings_read(&share->findings, &share->adviser, &all, err)) != 0) {
        findings_share_free(share);
        return code;
    }
    share->report = report;
    share->request = *request;
    return 0;
}

/* The table of a rule in the share, which then no longer has it; NULL: it has none of this request. */
static struct table *take_table(const struct analysis *analysis, struct report *report,
                                const struct analysis_request *request)
{
    struct findings_share *share = request->findings;
    struct findings *findings;

    if (!share || !share->report || !is_of_part(share, report, request))
        return NULL;
    for (size_t i = 0; i < request->option_count; i++)
        if (strcmp(request->options[i].name, "rows") != 0)
            return NULL;
    findings = &share->findings;
    for (size_t i = 0; i < findings->table_count; i++)
        if (findings->tables[i].rule == analysis) {
            struct table *table = findings->tables[i].table;
            findings->tables[i].table = NULL;
            return table;
        }
    return NULL;
}

int findings_run(const struct analysis *analysis, struct report *report, const struct analysis_request *request,
                 struct table **out, struct error *err)
{
    struct table *table = take_table(analysis, report, request);
    int64_t rows;
    int code;

    if (!table)
        return analysis_run(analysis, report, request, out, err);
    if ((code = option_number(request, "rows", RULE_ROWS, -1, INT64_MAX, &rows, err)) != 0) {
        table_delete(table);
        return code;
    }
    if (rows >= 0)
        table_limit(table, (size_t)rows);
    *out = table;
    return 0;
}

void finding_add_saving(struct text *out, const struct finding *finding, const struct adviser *adviser)
{
    const struct advice_cause *cause = finding->cause;

    if (!cause) {
        human_time(out, finding->impact_ns);
        text_add(out, " of the run");
        return;
    }
    if (cause->confidence != ADVICE_TRY) {
        text_add(out, "≤ ");
        human_time(out, cause->bound_ns);
        text_add(out, ", about ");
        human_time(out, cause->estimate_ns);
        text_add(out, adviser->steps->count ? " per step" : " of the run");
        if (adviser->step_ns > 0)
            text_addf(out, ", %.1f %%", 100 * (double)cause->estimate_ns / (double)adviser->step_ns);
        text_add_char(out, ' ');
    }
    text_addf(out, "(%s)", advice_confidence_names[cause->confidence]);
}
