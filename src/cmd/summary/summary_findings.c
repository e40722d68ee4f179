/* The rows of advice_sum and of the reports on samples, as lines. Columns are found by their names: the reports are
 * free to add some. */
#include "summary_findings.h"

#include <string.h>

#include "analyze/engine/analysis.h"
#include "analyze/registry.h"
#include "analyze/summary/run_figures.h"
#include "base/human.h"
#include "cmd/print/display.h"
#include "cmd/print/short_name.h"
#include "summary_wall.h"

/* ---- Causes ---------------------------------------------------------------------------------------------------- */

int summary_cause(struct text *out, const struct table *causes, size_t row, const char *column)
{
    size_t at = table_find_column(causes, column);

    if (at == TABLE_NO_COLUMN)
        return 0;
    const struct table_cell *cell = &table_row(causes, row)[at];
    if (cell->kind != CELL_TEXT || !cell->text.length)
        return 0;
    text_add_bytes(out, cell->text.bytes, cell->text.length);
    return 1;
}

/* "     1.96 s  lock 0x…: 3 threads waited for work (mx.c:5), held by worker (2100)" */
static void finding_lines_add_cause(struct text *out, const struct table *causes, size_t row, size_t impact)
{
    enum { IMPACT_COLUMNS = 12, WIDEST = 500 }; /* names in a finding may have any length */
    struct text gain = { 0 }, finding = { 0 }, words = { 0 }, clean = { 0 };

    human_time(&gain, table_row(causes, row)[impact].integer);
    size_t columns = display_add(&clean, text_string(&gain), gain.length, 0);
    text_add_repeat(out, ' ', columns < IMPACT_COLUMNS ? IMPACT_COLUMNS - columns : 1);
    text_add(out, text_string(&clean));
    text_add(out, "  ");
    if (summary_cause(&finding, causes, row, "Finding") || summary_cause(&finding, causes, row, "Title") ||
        summary_cause(&finding, causes, row, "Rule")) {
        short_name_drop_versions(&words, text_string(&finding), finding.length);
        display_add_middle(out, text_string(&words), words.length, WIDEST);
    }
    text_add_char(out, '\n');
    text_free(&gain);
    text_free(&finding);
    text_free(&words);
    text_free(&clean);
}

void summary_add_causes(struct text *out, const struct summary *summary)
{
    enum { MOST_SHOWN = 3, MOST_BESIDE = 1 };                       /* beside an answer */
    size_t judged = summary->adviser.count, most = judged ? MOST_BESIDE : MOST_SHOWN, shown = 0, count = 0;
    size_t first = judged + (*run_late_rank(summary->causes) != 0); /* which has a line above */
    size_t end = summary->causes ? table_row_count(summary->causes) : 0;
    size_t impact = first < end ? table_find_column(summary->causes, "Impact") : TABLE_NO_COLUMN;

    for (size_t i = first; i < end; i++)
        count += !summary_wall_has_cause(summary, i);
    if (impact == TABLE_NO_COLUMN || !count)
        return;
    text_addf(out, "  %s%s%s", summary_bold(summary->request),
              judged ? "of the whole run" : "causes, by time; they may overlap", summary_plain(summary->request));
    if (count > most)
        text_addf(out, " (%zu of %zu)", most, count);
    text_add_char(out, '\n');
    for (size_t i = first; i < end && shown < most; i++)
        if (!summary_wall_has_cause(summary, i)) {
            finding_lines_add_cause(out, summary->causes, i, impact);
            shown++;
        }
}

/* ---- Functions ------------------------------------------------------------------------------------------------- */

enum { SELF, TOTAL, SELF_SAMPLES, TOTAL_SAMPLES, FUNCTION, MODULE }; /* columns of cpu_sample_sum */

/* Whether a function is the agent's: no part of the program. */
static int is_of_tacho(const struct table_cell *row)
{
    static const char agent[] = "/libtacho-";
    const struct table_cell *module = &row[MODULE];
    struct text path = { 0 };

    text_add_bytes(&path, module->text.bytes, module->text.length);
    int found = strstr(text_string(&path), agent) != NULL;
    text_free(&path);
    return found;
}

/* Whether it is a function of the import machinery: all of them have one name. */
static int is_import(const struct table_cell *row)
{
    return summary_is_import(&row[MODULE]);
}

static double sum_shares(const struct table *table, int (*is_one)(const struct table_cell *row))
{
    double sum = 0;

    for (size_t i = 0; i < table_row_count(table); i++)
        sum += is_one(table_row(table, i)) ? table_row(table, i)[SELF].real : 0;
    return sum;
}

/* Names the function if it is one of the first; counts it in any case, if it is worth a word. */
static void finding_lines_add_function(struct text *out, const char *name, size_t length, double share, size_t *count)
{
    enum { MOST_NAMED = 3, WIDEST = 40 };

    if (share < SUMMARY_LEAST_SHARE || ++*count > MOST_NAMED + 1)
        return;
    text_add(out, *count > 1 ? ", " : " ");
    if (*count > MOST_NAMED) {
        text_add(out, "…");
        return;
    }
    display_add(out, name, length, WIDEST);
    text_add_char(out, ' ');
    summary_add_share(out, share, 100);
}

/* "work 61.0 %, Python imports 20.1 %, read 3.0 %, …; [tacho] 0.4 %": by share, the rows are in that order. */
static void finding_lines_add_functions(struct text *out, const struct table *table)
{
    double own = sum_shares(table, is_of_tacho), imports = sum_shares(table, is_import);
    size_t count = 0;

    for (size_t i = 0; i < table_row_count(table); i++) {
        const struct table_cell *row = table_row(table, i);
        if (is_of_tacho(row))
            continue;
        if (imports > 0 && (imports >= row[SELF].real || is_import(row))) {
            finding_lines_add_function(out, SUMMARY_IMPORTS, strlen(SUMMARY_IMPORTS), imports, &count);
            imports = 0;
        }
        if (!is_import(row))
            finding_lines_add_function(out, row[FUNCTION].text.bytes, row[FUNCTION].text.length, row[SELF].real,
                                       &count);
    }
    if (own >= SUMMARY_LEAST_SHARE) {
        text_add(out, count ? "; [tacho] " : " [tacho] ");
        summary_add_share(out, own, 100);
    }
    text_add_char(out, '\n');
}

static void finding_lines_add_samples(struct text *out, struct report *report, const struct source_summary *source,
                                      uint64_t samples)
{
    enum { FEWEST = 20, MOST_COUNTED = 1000000 }; /* nobody waits for more */
    struct analysis_request request = { 0 };
    struct table *functions = NULL;
    struct error err;

    if (samples < FEWEST) {
        text_addf(out, "  %s: too few samples (%d)\n", source->functions_heading, (int)samples);
        return;
    }
    if (samples > MOST_COUNTED ||
        analysis_run(analysis_find(source->functions), report, &request, &functions, &err) != 0)
        return;
    text_addf(out, "  %s:", source->functions_heading);
    finding_lines_add_functions(out, functions);
    table_delete(functions);
}

void summary_add_functions(struct text *out, const struct summary *summary)
{
    struct report *report = summary->shown;

    for (size_t i = 0; i < CMD_SOURCE_COUNT; i++) {
        const struct source_summary *source = cmd_sources[i]->summary;
        const struct report_table *samples = source && source->samples ? report_table(report, source->samples) : NULL;
        if (samples && samples->rows) {
            finding_lines_add_samples(out, report, source, samples->rows);
            return;
        }
    }
}
