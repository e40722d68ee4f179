/* The first sections: figures of the run in tiles, what to change first, and where the time of a step went. */
#include <math.h>
#include <string.h>

#include "analyze/registry.h"
#include "analyze/reports/run_sum.h"
#include "analyze/rules/rule_state.h"
#include "analyze/summary/step_parts.h"
#include "base/human.h"
#include "base/saturating.h"
#include "cmd/print/html_escape.h"
#include "html_page.h"

/* ---- tiles ----------------------------------------------------------------------------------------------------- */

/* A figure, and a sentence below it. */
static void open_tile(struct text *out, const char *name)
{
    text_addf(out, "<div class=\"tile\"><dt>%s</dt><dd class=\"figure\">", name);
}

static void add_percent_tile(struct text *out, const char *name, double percent, int decimals, const char *note)
{
    if (percent < 0)
        return;
    open_tile(out, name);
    html_add_percent(out, percent, decimals);
    text_addf(out, "<meter min=\"0\" max=\"100\" value=\"%.6g\" aria-label=\"%s\"></meter></dd><dd>%s</dd></div>\n",
              fmin(fmax(percent, 0), 100), name, note);
}

static void add_time_tile(struct text *out, const char *name, double ns, const char *note)
{
    if (ns < 0)
        return;
    open_tile(out, name);
    html_add_time(out, saturating_from_double(ns));
    text_addf(out, "</dd><dd>%s</dd></div>\n", note);
}

static void add_step_tile(struct text *out, const struct html_page *page)
{
    const struct adviser *adviser = &page->adviser;
    struct text count = { 0 };

    if (!html_has_replay(page) || !adviser->steps->count)
        return;
    open_tile(out, "Step");
    html_add_time(out, adviser->step_ns);
    text_add(out, "</dd><dd>");
    adviser_add_steps(&count, adviser);
    html_add_string(out, text_string(&count));
    text_add(out, "</dd></div>\n");
    text_free(&count);
}

/* How long recording was on, and how long the program ran: the header and other shares are of the first. */
static void add_time_tiles(struct text *out, const struct html_page *page, double process_ns)
{
    const struct capture_facts *facts = &page->facts;
    struct text note = { 0 };

    if (facts->is_part)
        text_addf(&note, "in %zu capture range%s", facts->range_count, facts->range_count == 1 ? "" : "s");
    else
        text_add(&note, "the whole capture");
    add_time_tile(out, RUN_SUM_RECORDED, run_time_of(page->reports[RUN_TABLE_RUN], RUN_SUM_RECORDED),
                  text_string(&note));
    add_time_tile(out, RUN_SUM_PROCESS, process_ns, "from the start of the program to its end");
    text_free(&note);
}

static void add_cpu_tile(struct text *out, double cpu_ns, double process_ns)
{
    struct text note = { 0 };

    if (process_ns > 0)
        text_addf(&note, "%.2f CPUs busy on average in the process time", cpu_ns / process_ns);
    add_time_tile(out, "CPU time", cpu_ns, text_string(&note));
    text_free(&note);
}

static void add_memory_tile(struct text *out, const struct html_page *page)
{
    const char *device;
    double bytes = run_memory_peak(page->reports[RUN_TABLE_MEMORY], &device);

    if (bytes <= 0)
        return;
    open_tile(out, "Peak memory");
    text_addf(out, "<data value=\"%.0f\">", bytes);
    human_bytes(out, (uint64_t)bytes);
    text_add(out, "</data></dd><dd>allocated by PyTorch on ");
    html_add_string(out, device);
    text_add(out, "</dd></div>\n");
}

void html_add_tiles(struct text *out, struct html_page *page)
{
    const struct step_figures *figures = &page->figures;
    double process_ns = run_time_of(page->reports[RUN_TABLE_RUN], RUN_SUM_PROCESS),
           cpu_ns = run_time_of(page->reports[RUN_TABLE_RUN], RUN_SUM_CPU);
    struct text note = { 0 };

    text_add(out, "<dl class=\"tiles\">\n");
    add_step_tile(out, page);
    add_time_tiles(out, page, process_ns);
    add_percent_tile(out, "GPU busy", figures->busy, 1,
                     page->adviser.steps && page->adviser.steps->count ? "of the time of the steps"
                                                                       : "of the GPU's part of the run");
    text_addf(&note, "of %.0f TFLOP/s; HFU %.1f %%", figures->peak / 1e12, figures->hfu);
    add_percent_tile(out, "MFU", figures->mfu, 2, text_string(&note));
    text_clear(&note);
    text_addf(&note, "of the time of kernels; %.1f %% unknown", figures->tensor_unknown);
    add_percent_tile(out, "Tensor cores", figures->tensor, 1, text_string(&note));
    add_cpu_tile(out, cpu_ns, process_ns);
    add_memory_tile(out, page);
    text_add(out, "</dl>\n");
    text_free(&note);
}

/* ---- advice ---------------------------------------------------------------------------------------------------- */

/* The saving of a cause: the end of its range as a light bar of the step, the estimate as a dark one in it. */
static void html_overview_add_saving(struct text *out, const struct html_page *page, size_t row)
{
    double from = table_number_at(page->causes, row, "From"), to = table_number_at(page->causes, row, "To");
    double about = table_number_at(page->causes, row, "Saves per Step"), step = (double)page->adviser.step_ns;

    if (!table_cell_at(page->causes, row, "Saves per Step")) {
        if (table_text_at(page->causes, row, "Confidence")[0])
            return;
        text_add(out, "<p class=\"saving\">Impact ");
        html_add_time(out, saturating_from_double(table_number_at(page->causes, row, "Impact")));
        text_add(out, "</p>\n");
        return;
    }
    text_add(out, "<p class=\"saving\">Saves about ");
    html_add_time(out, saturating_from_double(about));
    text_add(out, page->adviser.steps->count ? " per step" : "");
    if (step > 0) {
        text_add(out, ", ");
        html_add_percent(out, 100 * about / step, 1);
    }
    text_add(out, " (");
    html_add_time(out, saturating_from_double(from));
    text_add(out, " to ");
    html_add_time(out, saturating_from_double(to));
    text_add_char(out, ')');
    if (step > 0)
        text_addf(out, "<span class=\"gain\" style=\"--bound:%.1f%%;--about:%.1f%%\"></span>", 100 * to / step,
                  100 * about / step);
    text_add(out, "</p>\n");
}

static void html_overview_add_cause(struct text *out, const struct html_page *page, size_t row)
{
    const struct table *causes = page->causes;
    const char *where = table_text_at(causes, row, "Where"), *confidence = table_text_at(causes, row, "Confidence");

    text_add(out, "<li>\n<h3>");
    html_add_string(out, table_text_at(causes, row, "Finding"));
    if (*confidence)
        text_addf(out, " <span class=\"confidence\">%s</span>", confidence);
    text_add(out, "</h3>\n");
    html_overview_add_saving(out, page, row);
    text_add(out, "<p>");
    if (*where) {
        text_add(out, "<code>");
        html_add_string(out, where);
        text_add(out, "</code>: ");
    }
    html_add_string(out, table_text_at(causes, row, "Advice"));
    text_add(out, "</p>\n</li>\n");
}

/* Steps that were recorded took longer than others: figures of advice are those of the others. */
static void add_recording(struct text *out, const struct html_page *page)
{
    const struct adviser *adviser = &page->adviser;

    if (!html_has_replay(page) || !adviser->base.count || adviser->recorded_ns <= adviser->step_ns)
        return;
    text_add(out, "<p>Savings are of the step without recording, ");
    html_add_time(out, adviser->step_ns);
    text_add(out, "; with it, a step took ");
    html_add_time(out, adviser->recorded_ns);
    text_add(out, ".</p>\n");
}

/* The joint saving of the first causes: a replay without all of them. */
static void html_overview_add_together(struct text *out, struct html_page *page, size_t shown)
{
    size_t count = page->adviser.count < shown ? page->adviser.count : shown;
    int64_t bound_ns, estimate_ns;
    struct error err;

    if (count < 2 || adviser_combine_first(&page->adviser, count, &bound_ns, &estimate_ns, &err) != 0)
        return;
    struct advice_range range = adviser_range(&page->adviser, bound_ns, estimate_ns);
    text_addf(out, "<p class=\"together\">The first %zu together: about ", count);
    html_add_time(out, estimate_ns);
    text_add(out, " (");
    html_add_time(out, range.low_ns);
    text_add(out, " to ");
    html_add_time(out, range.high_ns);
    text_add(out, page->adviser.steps->count ? ") per step.</p>\n" : ").</p>\n");
}

/* Rules that lacked data, and the options that record it. */
static void html_overview_add_unchecked(struct text *out, const struct html_page *page)
{
    struct text options = { 0 };

    for (size_t i = 0; rules[i]; i++) {
        const char *option = analysis_is_replayed(rules[i]) && rule_state(rules[i], page->report) == RULE_UNCHECKED
                                 ? analysis_need_option(analysis_missing(rules[i], page->report))
                                 : NULL;
        if (option && !strstr(text_string(&options), option))
            text_addf(&options, "%s<code>%s</code>", options.length ? ", " : "", option);
    }
    if (options.length)
        text_addf(out, "<p>Not checked for lack of data; <code>tacho profile</code> records it with %s.</p>\n",
                  text_string(&options));
    text_free(&options);
}

/* Whether a finding is one of the replay, whose saving is of a step; others are of the whole run. */
static int is_of_step(const struct table *causes, size_t row)
{
    return *table_text_at(causes, row, "Confidence") != 0;
}

/* The findings of one kind, as many as are shown, under their own heading. Returns their number. */
static size_t html_overview_add_group(struct text *out, const struct html_page *page, int of_step, const char *heading)
{
    enum { MOST = 8 };
    size_t rows = page->causes ? table_row_count(page->causes) : 0, shown = 0;

    for (size_t row = 0; row < rows && shown < MOST; row++) {
        if (is_of_step(page->causes, row) != of_step)
            continue;
        if (!shown++)
            text_addf(out, "<p class=\"group\">%s</p>\n<ol class=\"advice\">\n", heading);
        html_overview_add_cause(out, page, row);
    }
    if (shown)
        text_add(out, "</ol>\n");
    return shown;
}

void html_add_advice(struct text *out, struct html_page *page)
{
    int has_steps = html_has_replay(page) && page->adviser.steps->count;
    size_t judged;

    if (!page->is_checked)
        return;
    if (!page->causes)
        text_add(out, "<p>No rule found anything that would save 1 % of the time.</p>\n");
    judged = html_overview_add_group(out, page, 1,
                                     has_steps ? "Savings per step" : "Savings in the GPU's part of the run");
    html_overview_add_together(out, page, judged);
    if (judged)
        add_recording(out, page);
    html_overview_add_group(out, page, 0, "Of the whole run");
    html_overview_add_unchecked(out, page);
    html_add_command(out, page, "analyze");
}

/* ---- breakdown ------------------------------------------------------------------------------------------------- */

/* The parts of the mean step, which add up to it. */
static void add_step_parts(struct text *out, const struct html_page *page)
{
    struct html_part parts[STEP_PARTS];
    double means[STEP_PARTS];
    const struct steps none = { 0 };

    step_parts_mean(means, page->reports[RUN_TABLE_STEP_PARTS], page->adviser.steps ? page->adviser.steps : &none);
    for (size_t i = 0; i < STEP_PARTS; i++)
        parts[i] = (struct html_part){ step_part_name(&step_parts[i]), step_parts[i].kind, means[i],
                                       step_parts[i].cause != STEP_PART_BUSY };
    html_add_parts(out, "Parts of the mean step", parts, STEP_PARTS);
}

void html_add_breakdown(struct text *out, struct html_page *page)
{
    static const char *const idle_columns[] = { "Time", "Total Time", "Gaps", "Cause", "What", "Where", NULL };
    static const char *const busy_columns[] = { "Busy", "Busy Time", "Span", "Largest Gap", "GPU", "Name", NULL };
    static const char *const wait_columns[] = { "Time",       "Total Time", "Count", "Thread",
                                                "Waited For", "Held By",    "Where", NULL };
    static const struct html_table idle = { "Why GPUs were idle", idle_columns, NULL, NULL };
    static const struct html_table busy = { "GPUs", busy_columns, NULL, NULL };
    static const char *const wall_columns[] = { "Time", "Wall Time", "State", "Where", "Call", "Process", NULL };
    static const struct html_table wall = { "Of the wall time, by function", wall_columns, NULL, NULL };
    static const struct html_table waits = { "What threads waited for", wait_columns, NULL, NULL };

    if (page->reports[RUN_TABLE_STEP_PARTS]) {
        add_step_parts(out, page);
        html_add_command(out, page, "stats -r step_breakdown");
    }
    if (page->reports[RUN_TABLE_BUSY])
        html_add_table(out, page->reports[RUN_TABLE_BUSY], &busy);
    if (page->reports[RUN_TABLE_IDLE]) {
        html_add_table(out, page->reports[RUN_TABLE_IDLE], &idle);
        html_add_command(out, page, "stats -r gpu_idle_sum");
    }
    if (page->reports[RUN_TABLE_WALL]) {
        html_add_table(out, page->reports[RUN_TABLE_WALL], &wall);
        html_add_command(out, page, "stats -r wall_sum");
    }
    if (!page->reports[RUN_TABLE_BUSY] && page->reports[RUN_TABLE_WAITS]) {
        html_add_table(out, page->reports[RUN_TABLE_WAITS], &waits);
        html_add_command(out, page, "stats -r thread_wait_sum");
    }
}
