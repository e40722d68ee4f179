/* advice_sum: the rules that found something, with the time that following their advice could gain; largest first. */
#include "analyze/engine/cell_text.h"
#include "analyze/model/gpu.h"
#include "analyze/registry.h"
#include "analyze/rules/rule.h"

enum { IMPACT, FOUND, RULE, TITLE, ADVICE, CELLS };

static int add_row(struct table *table, const struct analysis *rule, const struct table *found)
{
    struct table_cell *row = table_add_row(table);

    if (!row)
        return ERR_NO_MEMORY;
    cell_set_int(&row[IMPACT], rule_impact_of_all(found));
    cell_set_int(&row[FOUND], (int64_t)table_row_count(found));
    if (cell_set_string(table, &row[RULE], rule->name) != 0 || cell_set_string(table, &row[TITLE], rule->title) != 0)
        return ERR_NO_MEMORY;
    return cell_set_string(table, &row[ADVICE], rule->advice);
}

/* Runs a rule whose data is in the report, and adds a row if it finds something. */
static int add_rule(struct table *table, const struct analysis *rule, struct report *report,
                    const struct analysis_request *request, struct error *err)
{
    struct table *found;
    int code;

    if (analysis_missing(rule, report))
        return 0;
    if ((code = analysis_run(rule, report, request, &found, err)) != 0)
        return code;
    if (table_row_count(found))
        code = add_row(table, rule, found);
    table_delete(found);
    return code;
}

static int by_impact(const struct table_cell *a, const struct table_cell *b, void *context)
{
    return (a[IMPACT].integer < b[IMPACT].integer) - (a[IMPACT].integer > b[IMPACT].integer);
}

static int fill_table(struct table *table, struct report *report, const struct analysis_request *request,
                      struct error *err)
{
    int code;

    for (size_t i = 0; rules[i]; i++)
        if ((code = add_rule(table, rules[i], report, request, err)) != 0)
            return code;
    table_sort(table, by_impact, NULL);
    return 0;
}

static int advice_sum(struct report *report, const struct analysis_request *request, struct table **out,
                      struct error *err)
{
    static const struct table_column columns[CELLS] = {
        [IMPACT] = { "Impact", CELL_INT, UNIT_NS, 0 },    [FOUND] = { "Found", CELL_INT, UNIT_NONE, 0 },
        [RULE] = { "Rule", CELL_TEXT, UNIT_NONE, 0 },     [TITLE] = { "Title", CELL_TEXT, UNIT_NONE, 0 },
        [ADVICE] = { "Advice", CELL_TEXT, UNIT_NONE, 0 },
    };
    static const struct analysis_option all = { "rows", "-1" };
    const struct analysis_request each = {
        .options = &all, .option_count = 1, .span = request->span, .filter = request->filter
    };
    struct table *table = table_new(columns, CELLS);

    return table_hand_over(table, table ? fill_table(table, report, &each, err) : ERR_NO_MEMORY, out, err);
}

const struct analysis analysis_advice_sum = {
    .name = "advice_sum",
    .title = "Advice by What It Could Gain",
    .usage = "",
    .help = "The rules of tacho analyze that found something, the most important first. Impact is the time that "
            "following the advice could gain at most: all that was found added up, of times in which a GPU was partly "
            "in use the rest. What rules found can overlap.",
    .needs = { { "CUDA trace data", gpu_tables } },
    .run = advice_sum,
};
