/* See finding_condition.h. */
#include "finding_condition.h"

#include <string.h>

#include "base/human.h"
#include "cmd/print/display.h"

/* ---- figures --------------------------------------------------------------------------------------------------- */

static int64_t saving_of(const struct finding *finding)
{
    return finding->cause ? finding->cause->estimate_ns : 0;
}

static int64_t finding_test_bound_of(const struct finding *finding)
{
    return finding->cause ? finding->cause->range.high_ns : 0;
}

static int64_t impact_of(const struct finding *finding)
{
    return finding->impact_ns;
}

/* The quantities that a limit can apply to. Percentages are of the step, or of the capture. */
static const struct finding_test_figure {
    const char *name;
    int64_t (*of)(const struct finding *finding);
    int of_step;
} figures[] = { { "saving", saving_of, 1 }, { "bound", finding_test_bound_of, 1 }, { "impact", impact_of, 0 } };
enum { FIGURES = COUNT_OF(figures) };

static const struct finding_test_figure *finding_test_figure_of(const struct condition *condition)
{
    for (size_t i = 0; i < FIGURES; i++)
        if (strcmp(figures[i].name, condition->name) == 0)
            return &figures[i];
    return NULL;
}

int finding_condition_parse(const char *text, struct condition *out, struct error *err)
{
    static const char like[] = "'saving>5%', 'bound>200us' or 'impact>5%'";

    if (condition_parse(text, like, out, err) != 0)
        return err->code;
    if (!finding_test_figure_of(out) || out->sign != '>' || out->bound < 0)
        return error_set(err, ERR_BAD_ARGUMENT, "--fail-if must be like %s, not '%s'", like, text);
    return 0;
}

/* ---- the check ------------------------------------------------------------------------------------------------- */

static int64_t whole_of(const struct finding_test_figure *figure, const struct analyze_file *file)
{
    return figure->of_step ? file->adviser.step_ns : file->capture_ns;
}

static int finding_test_exceeds(const struct condition *condition, const struct finding_test_figure *figure,
                                const struct analyze_file *file, const struct finding *finding)
{
    double value = (double)figure->of(finding), whole = (double)whole_of(figure, file);

    if (condition->percent)
        value = whole > 0 ? 100 * value / whole : 0;
    return value > condition->bound;
}

/* "FAILED launch_bound: saving 14.3 ms of a step of 19.3 ms (74.0 %), train.py:41 forward, limit 5 %" */
static void finding_test_add_verdict(struct text *line, const struct condition *condition,
                                     const struct finding_test_figure *figure, const struct analyze_file *file,
                                     const struct finding *finding)
{
    int64_t value = figure->of(finding), whole = whole_of(figure, file);

    text_addf(line, "FAILED %s: %s ", finding->rule->name, figure->name);
    human_time(line, value);
    if (whole > 0 && whole < INT64_MAX) {
        text_add(line, figure->of_step && file->adviser.steps->count ? " of a step of " : " of a run of ");
        human_time(line, whole);
        text_addf(line, " (%.1f %%)", 100 * (double)value / (double)whole);
    }
    if (finding->where.length) {
        text_add(line, ", ");
        display_add(line, text_string(&finding->where), finding->where.length, 0);
    }
    text_add(line, ", limit ");
    if (condition->percent)
        text_addf(line, "%g %%", condition->bound);
    else
        human_time(line, saturating_from_double(condition->bound));
}

int finding_condition_check(const struct condition *condition, const struct analyze_file *file, int *is_met,
                            struct text *line, struct error *err)
{
    const struct finding_test_figure *figure = finding_test_figure_of(condition);
    const struct finding *most = NULL;
    size_t count = 0, checked = 0;

    *is_met = 0;
    for (size_t i = 0; i < file->findings.answer_count; i++) {
        const struct rule_answer *answer = &file->findings.answers[i];
        checked += answer->answer != ANSWER_NOT_CHECKED && (!figure->of_step || analysis_is_replayed(answer->rule));
    }
    if (!checked || (figure->of_step && !analyze_file_has_replay(file)))
        return error_set(err, ERR_NO_DATA, "--fail-if '%s' could not be checked: %s has no data for a rule with a %s",
                         condition->text, text_string(&file->path), figure->name);
    for (size_t i = 0; i < file->findings.count; i++) {
        const struct finding *finding = &file->findings.list[i];
        if (!finding_test_exceeds(condition, figure, file, finding))
            continue;
        count++;
        most = !most || figure->of(finding) > figure->of(most) ? finding : most;
    }
    if (!most)
        return 0;
    *is_met = 1;
    finding_test_add_verdict(line, condition, figure, file, most);
    if (count > 1)
        text_addf(line, "; %zu more %s it", count - 1, count == 2 ? "finding exceeds" : "findings exceed");
    text_add_char(line, '\n');
    return 0;
}
