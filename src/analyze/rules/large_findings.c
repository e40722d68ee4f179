/* Small rows need not be the last of advice_sum: a cause outside of the program stands behind them. */
#include "large_findings.h"

#include "base/saturating.h"
#include "rule.h"

/* The time of which a finding takes a share; 0: it is not known. */
static int64_t time_of_run(struct report *report, const struct report_span *part)
{
    struct error err;
    int64_t whole_ns;

    if (rule_capture_time(report, &whole_ns, &err) != 0 || whole_ns == INT64_MAX)
        return 0;
    int64_t part_ns = part ? saturating_duration(part->from_ns, part->to_ns) : whole_ns;
    return part_ns < whole_ns ? part_ns : whole_ns;
}

/* An impact below least_ns, in this column of advice_sum. */
struct smallness {
    size_t impact;
    int64_t least_ns;
};

static int small_last(const struct table_cell *a, const struct table_cell *b, void *context)
{
    const struct smallness *small = context;

    return (a[small->impact].integer < small->least_ns) - (b[small->impact].integer < small->least_ns);
}

size_t large_findings(struct table *advice, struct report *report, const struct report_span *part, size_t always)
{
    struct smallness small = { table_find_column(advice, "Impact"), time_of_run(report, part) / 100 };
    size_t kept = table_row_count(advice);

    if (small.impact == TABLE_NO_COLUMN || kept <= always)
        return kept;
    table_sort_part(advice, always, kept - always, small_last, &small);
    while (kept > always && table_row(advice, kept - 1)[small.impact].integer < small.least_ns)
        kept--;
    return kept;
}
