/* rule_sum: the answer of each rule: a problem, no problem, or not checked. */
#include "analyze/engine/cell_text.h"
#include "analyze/findings/findings.h"
#include "analyze/registry.h"

enum { RULE, ANSWER, FOUND, SAVES, IMPACT, MISSING, OPTION, CELLS };

/* The largest finding of a rule, and the number of its findings. */
static const struct finding *largest_of(const struct findings *findings, const struct analysis *rule, int64_t *count)
{
    const struct finding *largest = NULL;

    *count = 0;
    for (size_t i = 0; i < findings->count; i++)
        if (findings->list[i].rule == rule) {
            largest = largest ? largest : &findings->list[i]; /* it comes first */
            ++*count;
        }
    return largest;
}

static int sum_add_row(struct table *table, const struct findings *findings, const struct rule_answer *answer)
{
    struct table_cell *row = table_add_row(table);
    int64_t count;
    const struct finding *largest = largest_of(findings, answer->rule, &count);
    const char *option = answer->missing ? analysis_need_option(answer->missing) : NULL;

    if (!row || cell_set_string(table, &row[RULE], answer->rule->name) != 0 ||
        cell_set_string(table, &row[ANSWER], finding_answer_names[answer->answer]) != 0)
        return ERR_NO_MEMORY;
    if (answer->answer != ANSWER_NOT_CHECKED)
        cell_set_int(&row[FOUND], count);
    if (largest)
        cell_set_int(&row[IMPACT], largest->impact_ns);
    if (largest && largest->cause && largest->cause->confidence != ADVICE_TRY)
        cell_set_int(&row[SAVES], largest->cause->estimate_ns);
    if (answer->missing && cell_set_string(table, &row[MISSING], answer->missing->data) != 0)
        return ERR_NO_MEMORY;
    return option ? cell_set_string(table, &row[OPTION], option) : 0;
}

static int sum_fill_table(struct table *table, const struct findings *findings)
{
    int code;

    for (size_t i = 0; i < findings->answer_count; i++)
        if ((code = sum_add_row(table, findings, &findings->answers[i])) != 0)
            return code;
    return 0;
}

static int rule_sum(struct report *report, const struct analysis_request *request, struct table **out,
                    struct error *err)
{
    static const struct table_column columns[CELLS] = {
        [RULE] = { "Rule", CELL_TEXT, UNIT_NONE, 0 },          [ANSWER] = { "Answer", CELL_TEXT, UNIT_NONE, 0 },
        [FOUND] = { "Findings", CELL_INT, UNIT_NONE, 0 },      [SAVES] = { "Saves per Step", CELL_INT, UNIT_NS, 0 },
        [IMPACT] = { "Impact", CELL_INT, UNIT_NS, 0 },         [MISSING] = { "Missing Data", CELL_TEXT, UNIT_NONE, 0 },
        [OPTION] = { "Recorded By", CELL_TEXT, UNIT_NONE, 0 },
    };
    struct findings_share own, *share;
    struct table *table = NULL;
    int code = findings_get(&share, &own, report, request, err);

    if (code != 0)
        goto free_own;
    table = table_new(columns, CELLS);
    code = table_hand_over(table, table ? sum_fill_table(table, &share->findings) : ERR_NO_MEMORY, out, err);
free_own:
    findings_share_free(&own);
    return code;
}

const struct analysis analysis_rule_sum = {
    .name = "rule_sum",
    .title = "Answers of the Rules",
    .help = "A row for each rule that applies to the program, except those that list events: whether it found a "
            "problem, found none, or was not checked because the report lacks its data, which the last columns name "
            "with the option of tacho profile that records it. The times are those of its largest finding, as in "
            "advice_sum.",
    .overlap = "findings overlap",
    .run = rule_sum,
};
