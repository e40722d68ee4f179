/* The time that findings cost: see rule_impact.h. */
#include "rule_impact.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/saturating.h"

/* Whether its rows say their impact, in the first column. */
static int says_impact(const struct table *table)
{
    return strcmp(table_columns(table)[0].name, "Impact") == 0;
}

static int64_t impact_of_row(const struct table *table, size_t row)
{
    const struct table_column *columns = table_columns(table);
    const struct table_cell *cells = table_row(table, row);
    int64_t duration = 0;
    double idle = 1;

    if (says_impact(table))
        return cells[0].kind == CELL_INT && cells[0].integer > 0 ? cells[0].integer : 0;
    for (size_t c = 0; c < table_column_count(table); c++) {
        if (columns[c].unit == UNIT_NS && cells[c].kind == CELL_INT)
            duration = cells[c].integer;
        if (columns[c].unit == UNIT_PERCENT && cells[c].kind == CELL_REAL)
            idle = 1 - cells[c].real / 100;
    }
    if (idle == 1 || duration <= 0)
        return duration > 0 ? duration : 0;
    return idle > 0 ? saturating_from_double((double)duration * idle) : 0;
}

static int by_impact(const void *a, const void *b, void *context)
{
    size_t x = *(const size_t *)a, y = *(const size_t *)b;
    const int64_t *each = context;

    return COMPARE(each[y], each[x]) ?: COMPARE(x, y);
}

static void rule_impact_sum_up(struct rule_impact *impact, const struct analysis *rule, const struct table *table,
                               int64_t capture_ns)
{
    size_t rows = table_row_count(table);

    for (size_t row = 0; row < rows; row++)
        impact->all = saturating_add(impact->all, impact->each[row]);
    qsort_r(impact->order, rows, sizeof *impact->order, by_impact, impact->each);
    if (says_impact(table) && impact->all > capture_ns)
        impact->all = capture_ns;
    int is_outside = rows && rule->rule->is_outside && rule->rule->is_outside(table, impact->order[0]);
    impact->rank = is_outside && impact->all < capture_ns / 2 ? 0 : impact->all;
}

/* Rows in their order, without costs. */
static int open_impact(struct rule_impact *impact, const struct table *table, struct error *err)
{
    size_t rows = table_row_count(table);

    *impact = (struct rule_impact){ .each = calloc(rows + 1, sizeof *impact->each),
                                    .order = calloc(rows + 1, sizeof *impact->order) };
    if (!impact->each || !impact->order) {
        rule_impact_free(impact);
        return error_short_memory(err, "for the findings");
    }
    for (size_t row = 0; row < rows; row++)
        impact->order[row] = row;
    return 0;
}

int rule_impact_read(struct rule_impact *impact, const struct analysis *rule, const struct table *table,
                     int64_t capture_ns, struct error *err)
{
    int code = open_impact(impact, table, err);

    if (code != 0 || rule->rule->is_listing)
        return code;
    for (size_t row = 0; row < table_row_count(table); row++)
        impact->each[row] = impact_of_row(table, row);
    rule_impact_sum_up(impact, rule, table, capture_ns);
    return 0;
}

void rule_impact_free(struct rule_impact *impact)
{
    free(impact->each);
    free(impact->order);
    *impact = (struct rule_impact){ 0 };
}
