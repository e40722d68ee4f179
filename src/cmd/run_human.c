/* Tables for people, one after another; see run_human.h. */
#include "run_human.h"

#include <string.h>

#include "analyze/registry.h"
#include "analyze/rules/rule.h"
#include "analyze/rules/rule_state.h"
#include "base/human.h"
#include "base/saturating.h"
#include "cmd/print/display.h"
#include "cmd/print/print_human.h"

static void add_sentence(struct text *out, const struct run_human *run, const char *sentence)
{
    display_add_wrapped(out, sentence, 0, 0, print_human_columns(&run->request));
}

static void list_add(struct text *list, const char *name)
{
    text_addf(list, "%s%s", list->length ? ", " : "", name);
}

/* "cuda_api_sync, gpu_gaps (--trace=cuda), gil_contention (--python-sampling=true)": the option that records the data
 * of rules that follow one another stands behind the last of them. */
static void list_missing(struct run_human *run, const char *name, const char *option)
{
    if (run->missing_option && run->missing_option != option)
        text_addf(&run->missing, " (%s)", run->missing_option);
    list_add(&run->missing, name);
    run->missing_option = option;
}

/* A report that was asked for says itself why it has no table; of the default list all are named together. */
static void note_missing(struct text *out, struct run_human *run, struct report *report,
                         const struct analysis *analysis, const struct error *why)
{
    const struct analysis_need *missing = analysis_missing(analysis, report);
    struct text line = { 0 };

    if (run->by_default) {
        if (rule_state(analysis, report) != RULE_FOREIGN)
            list_missing(run, analysis->name, missing ? analysis_need_option(missing) : NULL);
        return;
    }
    text_addf(&line, "%s: ", analysis->name);
    display_add(&line, run->path, strlen(run->path), 0);
    text_addf(&line, missing ? " does not contain %s." : ": %s.", missing ? missing->data : why->text);
    add_sentence(out, run, text_string(&line));
    text_free(&line);
}

static int is_known(const struct run_human *run, const struct analysis *analysis)
{
    for (const struct analysis *const *at = run->known; *at; at++)
        if (*at == analysis)
            return 1;
    return 0;
}

static void note_nothing(struct text *out, struct run_human *run, const struct analysis *analysis)
{
    struct text line = { 0 };

    if (run->by_default) {
        if (is_known(run, analysis))
            list_add(&run->nothing, analysis->name);
        return;
    }
    text_addf(&line, "%s: %s", analysis->name, analysis->praise ? analysis->praise : "no rows.");
    add_sentence(out, run, text_string(&line));
    text_free(&line);
}

/* "… 312 more rows: tacho stats -r nvtx_sum --rows=all FILE", or the option alone where that is too wide. */
static void add_more(struct text *out, const struct run_human *run, const struct selection_item *wanted, size_t hidden,
                     int is_negligible)
{
    struct text line = { 0 };
    size_t columns = print_human_columns(&run->request);

    text_add(&line, "  … ");
    human_count(&line, hidden);
    text_addf(&line, " more row%s%s: ", hidden == 1 ? "" : "s", is_negligible ? " of 0.0 %" : "");
    size_t begin = line.length;
    text_addf(&line, "tacho %s", run->command->name);
    selection_command(&line, wanted, run->part);
    text_add(&line, " --rows=all ");
    display_add_file(&line, run->path);
    if (!display_fits(text_string(&line), line.length, columns)) {
        text_cut(&line, begin);
        text_add(&line, "--rows=all");
    }
    display_add(out, text_string(&line), line.length, columns);
    text_add_char(out, '\n');
    text_free(&line);
}

/* The default list fits LIST_LINES, and the lines below it, so that nobody scrolls for the first table: each table has
 * room for LEAST_ROWS, and the first ones, which matter most, for more as long as that holds. */
enum { LIST_LINES = 116, LINES_AROUND = 4, LEAST_ROWS = 5 }; /* around rows: title, headings, hidden rows, blank line */

static size_t most_rows(const struct run_human *run)
{
    size_t taken = run->lines + run->tables_to_come * (LINES_AROUND + LEAST_ROWS) + LINES_AROUND;
    size_t rows = taken < LIST_LINES ? LIST_LINES - taken : 0;

    if (!run->by_default || rows > OUTPUT_HUMAN_ROWS)
        return OUTPUT_HUMAN_ROWS;
    return rows > LEAST_ROWS ? rows : LEAST_ROWS;
}

/* The rows to print of a table. A limit that the user has set is kept. */
static size_t rows_to_show(const struct run_human *run, const struct table *table, const struct selection_item *wanted)
{
    size_t rows = table_row_count(table), shown = print_human_rows(table), most = most_rows(run);

    if (run->delivery->rows_option)
        return run->delivery->rows < rows ? run->delivery->rows : rows;
    for (size_t i = 0; i < wanted->option_count; i++)
        if (strcmp(wanted->options[i].name, "rows") == 0)
            return rows;
    if (run->delivery->quiet) /* nothing would tell of rows that are left out */
        return rows;
    return shown < most ? shown : most;
}

static void add_advice(struct text *out, const struct run_human *run, const struct table *table,
                       const struct analysis *rule)
{
    struct text advice = { 0 };

    rule_add_advice(&advice, rule, table);
    add_sentence(out, run, text_string(&advice));
    text_free(&advice);
}

/* ---- findings that are too small ------------------------------------------------------------------------------- */

/* The time of which a finding takes a share; 0: it is not known. */
static int64_t time_of_run(struct report *report, const struct report_span *part)
{
    struct error err;
    int64_t whole_ns;

    if (rule_capture_time(report, &whole_ns, &err) != 0 || whole_ns == INT64_MAX)
        return 0;
    int64_t part_ns = part ? saturating_duration(part->from_ns, part->to_ns) : whole_ns;
    return part_ns < whole_ns ? part_ns : whole_ns;
}

static void take_small(struct run_human *run, const struct table_cell *rule, int64_t impact_ns)
{
    struct text name = { 0 };

    text_add_bytes(&name, rule->text.bytes, rule->text.length);
    run->small[run->small_count++] = rule_find(text_string(&name));
    list_add(&run->small_list, text_string(&name));
    text_add_char(&run->small_list, ' ');
    human_time(&run->small_list, impact_ns);
    text_free(&name);
}

/* An impact below least_ns, in this column of advice_sum. */
struct smallness {
    size_t impact;
    int64_t least_ns;
};

static int small_last(const struct table_cell *a, const struct table_cell *b, void *context)
{
    const struct smallness *small = context;

    return (a[small->impact].integer < small->least_ns) - (b[small->impact].integer < small->least_ns);
}

/* Takes the rows of advice_sum that are about less than 1 % of the run out of the table, but for the first. Small rows
 * need not be the last: a cause outside of the program stands behind them, whatever it cost. */
static void fold_small(struct run_human *run, struct table *advice, int64_t run_ns)
{
    size_t rows = table_row_count(advice), kept = rows, rule = table_find_column(advice, "Rule");
    struct smallness small = { table_find_column(advice, "Impact"), run_ns / 100 };

    if (small.impact == TABLE_NO_COLUMN || rule == TABLE_NO_COLUMN || !rows)
        return;
    table_sort_part(advice, 1, rows - 1, small_last, &small);
    while (kept > 1 && table_row(advice, kept - 1)[small.impact].integer < small.least_ns)
        kept--;
    if (rows - kept > RUN_HUMAN_MOST_SMALL)
        return;
    for (size_t i = kept; i < rows; i++)
        take_small(run, &table_row(advice, i)[rule], table_row(advice, i)[small.impact].integer);
    table_limit(advice, kept);
}

static int is_small(const struct run_human *run, const struct analysis *rule)
{
    for (size_t i = 0; i < run->small_count; i++)
        if (run->small[i] == rule)
            return 1;
    return 0;
}

/* ---- tables ---------------------------------------------------------------------------------------------------- */

static void add_table(struct text *out, const struct run_human *run, struct table *table,
                      const struct selection_item *wanted)
{
    const struct analysis *analysis = wanted->analysis;
    size_t rows = table_row_count(table), shown = rows_to_show(run, table, wanted);

    if (!run->delivery->quiet)
        print_human.title(out, analysis->title, analysis->name, &run->request);
    int is_negligible = shown >= print_human_rows(table);
    table_limit(table, shown);
    print_human.table(out, table, &run->request);
    if (run->delivery->quiet)
        return;
    if (shown < rows)
        add_more(out, run, wanted, rows - shown, is_negligible);
    if (analysis->advice && !run->by_default) /* the default list begins with all advice */
        add_advice(out, run, table, analysis);
    text_add_char(out, '\n');
}

int run_human_table(struct text *out, struct run_human *run, struct report *report, const struct selection_item *wanted,
                    const struct analysis_request *request, struct error *err)
{
    /* All rows, so that those left out can be counted; what the user says comes later and counts. */
    struct analysis_option options[WANTED_MOST_OPTIONS + 2] = { { "rows", "-1" } };
    struct analysis_request all = *request;
    struct table *table;
    size_t before = out->length;

    if (is_small(run, wanted->analysis))
        return 0;
    all.options = options;
    all.option_count = 1 + selection_options(wanted, options + 1);
    int code = analysis_run(wanted->analysis, report, &all, &table, err);
    if (code == ERR_NO_DATA && !run->delivery->quiet) {
        if (wanted->analysis->praise && rule_state(wanted->analysis, report) == RULE_CLEAR)
            note_nothing(out, run, wanted->analysis);
        else
            note_missing(out, run, report, wanted->analysis, err);
    }
    if (code != 0)
        return code == ERR_NO_DATA ? 0 : code;
    if (run->by_default && wanted->analysis == &analysis_advice_sum && !run->delivery->quiet)
        fold_small(run, table, time_of_run(report, request->span));
    if (table_row_count(table))
        add_table(out, run, table, wanted);
    else if (!run->delivery->quiet)
        note_nothing(out, run, wanted->analysis);
    table_delete(table);
    for (size_t i = before; i < out->length; i++)
        run->lines += out->bytes[i] == '\n';
    return 0;
}

/* One line, "No data for: A, B.", if there is anything in the list. */
static void add_list(struct text *out, const struct run_human *run, const char *label, const struct text *list,
                     const char *behind)
{
    struct text line = { 0 };

    if (!list->length)
        return;
    text_addf(&line, "%s: %s%s", label, text_string(list), behind);
    add_sentence(out, run, text_string(&line));
    text_free(&line);
}

void run_human_end(struct text *out, const struct run_human *run)
{
    struct text more = { 0 }, option = { 0 };

    if (run->delivery->quiet)
        return;
    if (run->missing_option)
        text_addf(&option, " (%s)", run->missing_option);
    text_addf(&more, " (tacho %s --help-%ss lists all %ss)", run->command->name, run->noun, run->noun);
    add_list(out, run, "Found, but below 1 % of the run", &run->small_list, " (tacho analyze -r NAME shows one)");
    add_list(out, run, run->nothing_label, &run->nothing, "");
    add_list(out, run, "Not checked, for lack of data", &run->missing, text_string(&option));
    add_list(out, run, "No data for", &run->lacking, text_string(&more));
    text_free(&more);
    text_free(&option);
}

void run_human_free(struct run_human *run)
{
    text_free(&run->lacking);
    text_free(&run->missing);
    text_free(&run->nothing);
    text_free(&run->small_list);
}
