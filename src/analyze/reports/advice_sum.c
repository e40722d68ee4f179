/* The report advice_sum: which rules found something, and what following each could gain; the most first. */
#include <string.h>

#include "analyze/model/gpu.h"
#include "analyze/registry.h"
#include "analyze/rules/rule.h"

enum { IMPACT, FOUND, RULE, TITLE, ADVICE, CELLS };

static int set_text(struct table *table, struct table_cell *cell, const char *text)
{
    return cell_set_text(table, cell, text, strlen(text));
}

static int add_rule(struct table *table, const struct analysis *rule, const struct table *found)
{
    struct table_cell *row = table_add_row(table);

    if (!row)
        return ERR_NO_MEMORY;
    cell_set_int(&row[IMPACT], rule_impact_of_all(found));
    cell_set_int(&row[FOUND], (int64_t)table_row_count(found));
    if (set_text(table, &row[RULE], rule->name) != 0 || set_text(table, &row[TITLE], rule->title) != 0)
        return ERR_NO_MEMORY;
    return set_text(table, &row[ADVICE], rule->advice);
}

static int by_impact(const struct table_cell *a, const struct table_cell *b, void *context)
{
    return (a[IMPACT].integer < b[IMPACT].integer) - (a[IMPACT].integer > b[IMPACT].integer);
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
    int code = table ? 0 : ERR_NO_MEMORY;

    for (size_t i = 0; rules[i] && code == 0; i++) {
        struct table *found;
        if (analysis_missing(rules[i], report))
            continue;
        code = analysis_run(rules[i], report, &each, &found, err);
        if (code != 0)
            break;
        if (table_row_count(found))
            code = add_rule(table, rules[i], found);
        table_delete(found);
    }
    if (code == 0)
        table_sort(table, by_impact, NULL);
    return table_hand_over(table, code, out, err);
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
