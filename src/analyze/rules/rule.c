/* Turns the options of rules into spans and filters, and the rows that a rule found into a table. */
#include "rule.h"

#include <string.h>

#include "analyze/engine/report_options.h"
#include "analyze/model/nvtx_span.h"
#include "base/saturating.h"

/* Leaves the part of the span that lies in `to`. */
static void narrow_span(struct report_span *span, const struct report_span *to)
{
    span->from_ns = to->from_ns > span->from_ns ? to->from_ns : span->from_ns;
    span->to_ns = to->to_ns < span->to_ns ? to->to_ns : span->to_ns;
}

int rule_open(struct rule *rule, struct report *report, const struct analysis_request *request, struct error *err)
{
    const char *range = option_text(request, "nvtx");
    int64_t pid, tid;
    struct report_span span;
    int code;

    *rule = (struct rule){ .request = *request, .span = { INT64_MIN, INT64_MAX } };
    if (request->span)
        rule->span = *request->span;
    if (request->filter)
        rule->only = *request->filter;
    if ((code = option_number(request, "rows", 50, -1, INT64_MAX, &rule->rows, err)) != 0 ||
        (code = option_number(request, "start", INT64_MIN, INT64_MIN, INT64_MAX, &span.from_ns, err)) != 0 ||
        (code = option_number(request, "end", INT64_MAX, INT64_MIN, INT64_MAX, &span.to_ns, err)) != 0 ||
        (code = option_number(request, "process", -1, 0, INT64_MAX, &pid, err)) != 0 ||
        (code = option_number(request, "thread", -1, 0, INT64_MAX, &tid, err)) != 0)
        return code;
    narrow_span(&rule->span, &span);
    if (range) {
        if ((code = nvtx_span_find(report, range, &span, err)) != 0)
            return code;
        narrow_span(&rule->span, &span);
    }
    if (pid >= 0) {
        rule->only.only |= ONLY_PID;
        rule->only.pid = pid;
    }
    if (tid >= 0) {
        rule->only.only |= ONLY_TID;
        rule->only.tid = tid;
    }
    rule->request.span = &rule->span;
    rule->request.filter = &rule->only;
    return 0;
}

int rule_finish(const struct rule *rule, struct table *table, int code,
                int (*compare)(const struct table_cell *a, const struct table_cell *b, void *context),
                struct table **out, struct error *err)
{
    if (code != 0)
        return table_hand_over(table, code, out, err);
    table_sort(table, compare, NULL);
    if (rule->rows >= 0)
        table_limit(table, (size_t)rule->rows);
    if (strcmp(table_columns(table)[0].name, "Row#") == 0)
        table_number_rows(table);
    *out = table;
    return 0;
}

int rule_by_duration(const struct table_cell *a, const struct table_cell *b, void *context)
{
    int order = (a[0].integer < b[0].integer) - (a[0].integer > b[0].integer);

    return order ? order : (a[1].integer > b[1].integer) - (a[1].integer < b[1].integer);
}

int64_t rule_impact(const struct table *table, size_t row)
{
    const struct table_column *columns = table_columns(table);
    const struct table_cell *cells = table_row(table, row);
    int64_t duration = 0;
    double idle = 1;

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

int64_t rule_impact_of_all(const struct table *table)
{
    int64_t sum = 0;

    for (size_t row = 0; row < table_row_count(table); row++)
        if (__builtin_add_overflow(sum, rule_impact(table, row), &sum))
            return INT64_MAX;
    return sum;
}
