/* Tables for people, one after another; see run_human.h. */
#include "run_human.h"

#include <string.h>

#include "advice_tables.h"
#include "analyze/registry.h"
#include "analyze/rules/rule.h"
#include "analyze/rules/rule_state.h"
#include "base/human.h"
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

static int is_same_option(const char *a, const char *b)
{
    return a == b || (a && b && strcmp(a, b) == 0);
}

static void list_unchecked(struct run_human *run, const char *name, const char *option)
{
    struct run_human_unchecked *at = run->unchecked, *end = at + run->unchecked_count;

    while (at < end && !is_same_option(at->option, option))
        at++;
    if (at == run->unchecked + RUN_HUMAN_MOST_OPTIONS)
        return;
    if (at == end) {
        *at = (struct run_human_unchecked){ .option = option };
        run->unchecked_count++;
    }
    if (at->count < RUN_HUMAN_MOST_NAMES)
        at->names[at->count] = name;
    at->count++;
}

/* A report that was asked for says itself why it has no table; those of the default list are named together. */
static void run_human_note_missing(struct text *out, struct run_human *run, struct report *report,
                                   const struct analysis *analysis, const struct error *why)
{
    const struct analysis_need *missing = analysis_missing(analysis, report);
    struct text line = { 0 };

    if (run->by_default) {
        if (rule_state(analysis, report) != RULE_FOREIGN)
            list_unchecked(run, analysis->name, missing ? analysis_need_option(missing) : NULL);
        return;
    }
    text_addf(&line, "%s: ", analysis->name);
    display_add(&line, run->path, strlen(run->path), 0);
    text_addf(&line, missing ? " does not contain %s." : ": %s.", missing ? missing->data : why->text);
    add_sentence(out, run, text_string(&line));
    text_free(&line);
}

static int run_human_is_known(const struct run_human *run, const struct analysis *analysis)
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
        if (run_human_is_known(run, analysis))
            list_add(&run->nothing, analysis->name);
        return;
    }
    text_addf(&line, "%s: %s", analysis->name, analysis->rule ? analysis->rule->praise : "no rows.");
    add_sentence(out, run, text_string(&line));
    text_free(&line);
}

/* "… 312 more rows: tacho stats -r nvtx_sum --rows=all FILE", or the option alone where that is too wide. */
static void run_human_add_more(struct text *out, const struct run_human *run, const struct selection_item *wanted,
                               size_t hidden, int is_negligible)
{
    struct text line = { 0 };
    size_t columns = print_human_columns(&run->request);

    text_add(&line, "  … ");
    human_count(&line, hidden);
    text_addf(&line, " more row%s%s: ", hidden == 1 ? "" : "s", is_negligible ? " of 0.0 %" : "");
    size_t begin = line.length;
    text_addf(&line, "tacho %s", run->command->name);
    selection_command(&line, wanted, run->part);
    if (run->by.by != SET_BY_NONE)
        text_addf(&line, " --by %s", run->by.by == SET_BY_RANK ? "rank" : "host");
    text_add(&line, " --rows=all ");
    if (run->input.count > 1)
        input_add_words(&line, run->input);
    else
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

    if (run->delivery->rows_option && run->by.by != SET_BY_NONE)
        return rows; /* the limit counts names, and was applied when they were joined */
    if (run->delivery->rows_option)
        return run->delivery->rows < rows ? run->delivery->rows : rows;
    for (size_t i = 0; i < wanted->option_count; i++)
        if (strcmp(wanted->options[i].name, "rows") == 0)
            return rows;
    if (run->delivery->quiet) /* nothing would report the rows that are left out */
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

/* ---- findings --------------------------------------------------------------------------------------------------- */

static const struct analysis *rule_of(const struct table *advice, size_t row, size_t column)
{
    const struct table_cell *cell = &table_row(advice, row)[column];
    struct text name = { 0 };

    text_add_bytes(&name, cell->text.bytes, cell->text.length);
    const struct analysis *rule = rule_find(text_string(&name));
    text_free(&name);
    return rule;
}

/* Remembers the order of the rules in advice_sum that have a table of their own in the list. */
static void take_order(struct run_human *run, const struct table *advice)
{
    size_t rows = table_row_count(advice), column = table_find_column(advice, "Rule");

    if (column == TABLE_NO_COLUMN || rows > RUN_HUMAN_MOST_FINDINGS)
        return;
    for (size_t i = 0; i < rows; i++) {
        const struct analysis *rule = rule_of(advice, i, column);
        if (!analysis_is_replayed(rule))
            run->found[run->found_count++] = rule;
    }
    run->has_order = 1;
}

static int run_human_has_finding(const struct table *advice, size_t column, const struct analysis *rule)
{
    for (size_t i = 0; column != TABLE_NO_COLUMN && i < table_row_count(advice); i++)
        if (rule_of(advice, i, column) == rule)
            return 1;
    return 0;
}

/* Rules on the replay have no table of their own in the list: those without a row of advice_sum are named below all
 * tables, as others are. */
static void list_answers(struct run_human *run, struct report *report, const struct table *advice)
{
    size_t column = table_find_column(advice, "Rule");

    for (const struct analysis *const *at = run->known; *at; at++) {
        enum rule_state state = rule_state(*at, report);
        if (!analysis_is_replayed(*at) || state == RULE_FOREIGN || run_human_has_finding(advice, column, *at))
            continue;
        if (state == RULE_UNCHECKED)
            list_unchecked(run, (*at)->name, analysis_need_option(analysis_missing(*at, report)));
        else
            list_add(&run->nothing, (*at)->name);
    }
}

/* The place of a rule in the order, or the number of those in it. */
static size_t run_human_place_of(const struct run_human *run, const struct analysis *rule)
{
    size_t at = 0;

    while (at < run->found_count && run->found[at] != rule)
        at++;
    return at;
}

/* Whether a rule only lists events that advice_sum has judged. */
static int is_listing(const struct run_human *run, const struct analysis *rule)
{
    return run->has_order && rule->rule && rule->rule->is_listing;
}

static void run_human_list_rows(struct run_human *run, const struct analysis *rule, size_t rows)
{
    list_add(&run->listings, rule->name);
    text_add_char(&run->listings, ' ');
    human_count(&run->listings, rows);
}

const struct selection_item *run_human_item(const struct run_human *run, const struct selection_list *wanted, size_t i)
{
    size_t behind = run->found_count; /* those that found nothing keep their order */

    for (size_t at = 1; at < wanted->count && i > 0; at++) {
        size_t place = run_human_place_of(run, wanted->items[at].analysis);
        if (1 + (place < run->found_count ? place : behind++) == i)
            return &wanted->items[at];
    }
    return &wanted->items[i < wanted->count ? i : wanted->count - 1];
}

/* ---- tables ---------------------------------------------------------------------------------------------------- */

/* The title, the rows that fit, and the number of the others. */
static void run_human_add_rows(struct text *out, const struct run_human *run, struct table *table, const char *title,
                               const struct selection_item *wanted)
{
    size_t rows = table_row_count(table), shown = rows_to_show(run, table, wanted);

    if (!run->delivery->quiet)
        print_human.title(out, title, wanted->analysis->name, &run->request);
    int is_negligible = shown >= print_human_rows(table);
    table_limit(table, shown);
    print_human.table(out, table, &run->request);
    if (!run->delivery->quiet && shown < rows)
        run_human_add_more(out, run, wanted, rows - shown, is_negligible);
}

/* Savings per step and findings of the whole run, each under a title of its own. */
static int run_human_add_groups(struct text *out, const struct run_human *run, const struct table *advice,
                                const struct selection_item *wanted, struct error *err)
{
    struct advice_table groups[ADVICE_TABLES];
    size_t count;
    int code = advice_tables_read(groups, &count, advice, err);

    if (code != 0)
        return code;
    for (size_t i = 0; i < count; i++) {
        if (i)
            text_add_char(out, '\n');
        run_human_add_rows(out, run, groups[i].table, groups[i].title, wanted);
    }
    advice_tables_free(groups, count);
    return 0;
}

static int run_human_add_table(struct text *out, const struct run_human *run, struct table *table,
                               const struct selection_item *wanted, struct error *err)
{
    const struct analysis *analysis = wanted->analysis;
    int code = 0;

    if (analysis == &analysis_advice_sum && !run->delivery->quiet && run->by.by == SET_BY_NONE)
        code = run_human_add_groups(out, run, table, wanted, err);
    else
        run_human_add_rows(out, run, table, analysis->title, wanted);
    if (code != 0 || run->delivery->quiet)
        return code;
    if (*table_note(table))
        add_sentence(out, run, table_note(table));
    if (analysis->rule && !run->by_default) /* the default list begins with all advice */
        add_advice(out, run, table, analysis);
    text_add_char(out, '\n');
    return 0;
}

int run_human_table(struct text *out, struct run_human *run, struct report *report, const struct selection_item *wanted,
                    const struct analysis_request *request, struct error *err)
{
    /* All rows, so that those left out can be counted; the user's option comes later and wins. For ranks, the limit
     * counts names, which only run_by_analysis() can do. */
    const char *names = run->by.by != SET_BY_NONE ? run->delivery->rows_option : NULL;
    struct analysis_option options[WANTED_MOST_OPTIONS + 2] = { { "rows", names ? names : "-1" } };
    struct analysis_request all = *request;
    struct table *table;
    size_t before = out->length;

    all.options = options;
    all.option_count = 1 + selection_options(wanted, options + 1);
    int code = run_by_analysis(&run->by, wanted->analysis, report, &all, &table, err);
    if (code == ERR_NO_DATA && !run->delivery->quiet) {
        if (wanted->analysis->rule && rule_state(wanted->analysis, report) == RULE_CLEAR)
            note_nothing(out, run, wanted->analysis);
        else
            run_human_note_missing(out, run, report, wanted->analysis, err);
    }
    if (code != 0)
        return code == ERR_NO_DATA ? 0 : code;
    if (run->by_default && wanted->analysis == &analysis_advice_sum && !run->delivery->quiet && !run->by.by) {
        take_order(run, table);
        list_answers(run, report, table);
    }
    if (table_row_count(table) && is_listing(run, wanted->analysis))
        run_human_list_rows(run, wanted->analysis, table_row_count(table));
    else if (table_row_count(table))
        code = run_human_add_table(out, run, table, wanted, err);
    else if (!run->delivery->quiet)
        note_nothing(out, run, wanted->analysis);
    table_delete(table);
    for (size_t i = before; i < out->length; i++)
        run->lines += out->bytes[i] == '\n';
    return code;
}

/* One line, "No data for: A, B.", if there is anything in the list. */
static void run_human_add_list(struct text *out, const struct run_human *run, const char *label,
                               const struct text *list, const char *behind)
{
    struct text line = { 0 };

    if (!list->length)
        return;
    text_addf(&line, "%s: %s%s", label, text_string(list), behind);
    add_sentence(out, run, text_string(&line));
    text_free(&line);
}

/* "lock_contention, blocked_io (--trace=osrt)", "launch_bound, result_waits, copies and 30 more (--trace=cuda)" */
static void run_human_add_unchecked(struct text *list, const struct run_human_unchecked *unchecked)
{
    enum { NAMED_OF_MANY = 3 };
    size_t named = unchecked->count > RUN_HUMAN_MOST_NAMES ? NAMED_OF_MANY : unchecked->count;

    for (size_t i = 0; i < named; i++)
        list_add(list, unchecked->names[i]);
    if (named < unchecked->count)
        text_addf(list, " and %zu more", unchecked->count - named);
    if (unchecked->option)
        text_addf(list, " (%s)", unchecked->option);
}

void run_human_end(struct text *out, const struct run_human *run)
{
    struct text more = { 0 }, unchecked = { 0 };

    if (run->delivery->quiet)
        return;
    for (size_t i = 0; i < run->unchecked_count; i++)
        run_human_add_unchecked(&unchecked, &run->unchecked[i]);
    text_addf(&more, " (tacho %s --help-%ss lists all %ss)", run->command->name, run->noun, run->noun);
    run_human_add_list(out, run, "Lists of events, with their rows", &run->listings,
                       " (tacho analyze -r NAME shows one)");
    run_human_add_list(out, run, run->nothing_label, &run->nothing, "");
    run_human_add_list(out, run, "Not checked, for lack of data", &unchecked, "");
    run_human_add_list(out, run, "No data for", &run->lacking, text_string(&more));
    text_free(&more);
    text_free(&unchecked);
}

void run_human_free(struct run_human *run)
{
    text_free(&run->lacking);
    text_free(&run->nothing);
    text_free(&run->listings);
}
