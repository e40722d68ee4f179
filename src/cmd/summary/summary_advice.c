/* The changes to make first, in at most nine lines: see summary_advice.h. */
#include "summary_advice.h"

#include <string.h>

#include "analyze/engine/analysis.h"
#include "analyze/model/flops/operator_flops.h"
#include "analyze/registry.h"
#include "analyze/rules/rule_state.h"
#include "analyze/summary/run_figures.h"
#include "analyze/summary/step_figures.h"
#include "base/human.h"
#include "base/saturating.h"
#include "cmd/command.h"
#include "cmd/print/display.h"

enum { MOST_SHOWN = 3, WHAT_COLUMNS = 58, SAVES_COLUMNS = 34 };

/* ---- rules ----------------------------------------------------------------------------------------------------- */

void summary_read_advice(struct summary *summary)
{
    struct report *report = summary->request->report;
    const struct cmd_source_subject *subject = report_sources_subject(report);
    struct error err;

    if (subject && subject->slows && !analysis_missing(&analysis_advice_sum, report)) {
        summary->slowed_by = subject->slows;
        return;
    }
    if (run_advice_read(&summary->adviser, &summary->causes, report, &err) != 0)
        summary->causes = NULL;
}

/* ---- the step -------------------------------------------------------------------------------------------------- */

/* " of 31.2 s, without steps": what a window is the middle of. */
static void summary_advice_add_whole(struct text *out, struct report *report)
{
    struct report_span span = { INT64_MAX, INT64_MIN };

    for (const char *const *name = advice_work_tables; *name; name++) {
        const struct report_table *table = report_table(report, *name);
        if (!table || table->first_ns > table->last_ns)
            continue;
        span.from_ns = table->first_ns < span.from_ns ? table->first_ns : span.from_ns;
        span.to_ns = table->last_ns > span.to_ns ? table->last_ns : span.to_ns;
    }
    text_add(out, " of ");
    human_time(out, saturating_duration(span.from_ns, span.to_ns));
    text_add(out, ", without steps");
}

static void summary_advice_add_clocks(struct text *out, const struct adviser *adviser)
{
    struct text clocks = { 0 };

    adviser_add_clocks(&clocks, adviser);
    if (clocks.length)
        text_addf(out, "  note: %s\n", text_string(&clocks));
    text_free(&clocks);
}

/* "step 18.4 ms over 40 steps by calls of Optimizer.step; GPU busy 25 %; …" */
static void summary_advice_add_step(struct text *out, const struct adviser *adviser, const char *peaks)
{
    struct step_figures figures = step_figures_of(adviser, peaks);

    text_add(out, adviser->steps->count ? "  step "
                  : adviser->window     ? "  the middle of the GPU's work, "
                                        : "  the GPU's part of the run ");
    human_time(out, adviser->step_ns);
    if (adviser->window && !adviser->steps->count)
        summary_advice_add_whole(out, adviser->whole);
    if (adviser->steps->count) {
        text_add_char(out, ' ');
        adviser_add_steps(out, adviser);
    }
    if (figures.busy >= 0)
        text_addf(out, "; GPU busy %.0f %%", figures.busy);
    if (figures.mfu >= 0)
        text_addf(out, "; MFU %.1f %% of %.0f TFLOP/s", figures.mfu, figures.peak / 1e12);
    if (figures.tensor >= 0) {
        text_addf(out, "; tensor cores %.0f %%", figures.tensor);
        if (figures.tensor_unknown > 1)
            text_addf(out, " (%.0f %% unknown)", figures.tensor_unknown);
        text_add(out, " of kernel time");
    }
    text_add_char(out, '\n');
}

/* ---- causes ---------------------------------------------------------------------------------------------------- */

/* Pads a part of a line to a width; a wider one is followed by two spaces. */
static void summary_advice_add_padded(struct text *line, const char *part, size_t length, size_t columns)
{
    size_t taken = display_columns(part, length);

    text_add_bytes(line, part, length);
    text_add_repeat(line, ' ', taken < columns ? columns - taken : 2);
}

static void summary_advice_add_row(struct text *out, const struct advice_cause *cause, size_t number)
{
    struct text what = { 0 }, saves = { 0 };

    display_add_middle(&what, text_string(&cause->what), cause->what.length, WHAT_COLUMNS - 1);
    if (cause->confidence != ADVICE_TRY)
        advice_add_saving(&saves, cause->range, cause->estimate_ns);
    text_addf(out, "   %zu ", number);
    summary_advice_add_padded(out, text_string(&what), what.length, WHAT_COLUMNS);
    summary_advice_add_padded(out, text_string(&saves), saves.length, SAVES_COLUMNS);
    text_addf(out, "%s\n     ", advice_confidence_names[cause->confidence]);
    if (cause->where.length) {
        display_add(out, text_string(&cause->where), cause->where.length, 0);
        text_add(out, ": ");
    }
    text_add(out, cause->advice);
    if (cause->rate.length) {
        text_add(out, " Rate: ");
        display_add(out, text_string(&cause->rate), cause->rate.length, 0);
        text_add(out, ".");
    }
    text_add_char(out, '\n');
    text_free(&what);
    text_free(&saves);
}

/* Whether operators were recorded without their shapes. */
static int lacks_shapes(struct report *report)
{
    struct error err;
    int has_shapes;

    return report_rows(report, "TACHO_TORCH_OP") && flops_has_shapes(report, &has_shapes, &err) == 0 && !has_shapes;
}

/* The options that record what rules did not have, each once. */
static void summary_advice_add_unchecked(struct text *out, struct report *report)
{
    static const char shapes[] = "--pytorch-shapes=true";
    struct text options = { 0 };

    if (lacks_shapes(report))
        text_add(&options, shapes);
    for (size_t i = 0; rules[i]; i++) {
        const char *option = analysis_is_replayed(rules[i]) && rule_state(rules[i], report) == RULE_UNCHECKED
                                 ? analysis_need_option(analysis_missing(rules[i], report))
                                 : NULL;
        if (option && !strstr(text_string(&options), option))
            text_addf(&options, "%s%s", options.length ? ", " : "", option);
    }
    if (options.length)
        text_addf(out, "  Not checked for lack of data: %s", text_string(&options));
    text_free(&options);
}

/* "all three: about 12.9 ms (8.39 to 20.6 ms)" */
static void summary_advice_add_together(struct text *out, struct adviser *adviser, size_t shown)
{
    int64_t bound_ns, estimate_ns;
    struct error err;

    if (shown < 2 || adviser_combine_first(adviser, shown, &bound_ns, &estimate_ns, &err) != 0)
        return;
    text_add(out, shown == 2 ? "  both: " : "  all three: ");
    advice_add_saving(out, adviser_range(adviser, bound_ns, estimate_ns), estimate_ns);
    if (adviser->count > shown)
        text_addf(out, " (%zu of %zu findings)", shown, adviser->count);
}

/* That no rule found anything says something only of rules that had what they need. */
static void summary_advice_add_nothing(struct text *out, const struct summary *summary)
{
    struct report *report = summary->request->report;

    if (rule_state(&rule_launch_bound, report) == RULE_UNCHECKED) {
        text_add(out, "  what to change first: not known, because no CUDA calls were recorded with the GPU's work\n");
        return;
    }
    text_addf(out, "  what to change first: %s found anything that would save 1 %% of it\n",
              *run_late_rank(summary->causes) ? "the late rank; no other rule" : "no rule");
    size_t before = out->length;
    summary_advice_add_unchecked(out, report);
    if (out->length > before)
        text_add_char(out, '\n');
}

void summary_add_answer(struct text *out, struct summary *summary)
{
    struct adviser *adviser = &summary->adviser;
    size_t shown = adviser->count < MOST_SHOWN ? adviser->count : MOST_SHOWN, before;

    if (summary->slowed_by)
        text_addf(out, "  note: %s\n", summary->slowed_by);
    if (!adviser->report || !adviser->replay.graph.points)
        return;
    summary_advice_add_clocks(out, adviser);
    summary_advice_add_step(out, adviser, summary->request->peaks);
    if (!shown) {
        summary_advice_add_nothing(out, summary);
        return;
    }
    text_add(out, "  ");
    text_add(out, summary_bold(summary->request));
    summary_advice_add_padded(out, "what to change first", strlen("what to change first"), WHAT_COLUMNS + 3);
    summary_advice_add_padded(out, adviser->steps->count ? "saves per step" : "saves", adviser->steps->count ? 14 : 5,
                              SAVES_COLUMNS);
    text_addf(out, "confidence%s\n", summary_plain(summary->request));
    for (size_t i = 0; i < shown; i++)
        summary_advice_add_row(out, &adviser->causes[i], i + 1);
    before = out->length;
    summary_advice_add_together(out, adviser, shown);
    summary_advice_add_unchecked(out, summary->request->report);
    if (out->length > before)
        text_add_char(out, '\n');
}
