/* Unions of intervals. */
#include <stdlib.h>

#include "base/array.h"
#include "base/saturating.h"
#include "dlprof_internal.h"

static int by_group(const void *left, const void *right)
{
    const struct dlprof_interval *a = left, *b = right;

    return COMPARE(a->group, b->group) ?: COMPARE(a->start_ns, b->start_ns);
}

void dlprof_intervals_sort(struct dlprof_interval *list, size_t count)
{
    if (count)
        qsort(list, count, sizeof *list, by_group);
}

int64_t dlprof_intervals_union(const struct dlprof_interval *list, size_t count, size_t *at)
{
    int64_t group = list[*at].group, covered_to = list[*at].start_ns, total = 0;

    for (; *at < count && list[*at].group == group; ++*at) {
        int64_t from = list[*at].start_ns > covered_to ? list[*at].start_ns : covered_to;
        if (list[*at].end_ns <= from)
            continue;
        total = saturating_add(total, saturating_duration(from, list[*at].end_ns));
        covered_to = list[*at].end_ns;
    }
    return total;
}

int64_t dlprof_intervals_total(const struct dlprof_interval *list, size_t count)
{
    int64_t total = 0;

    for (size_t at = 0; at < count;)
        total = saturating_add(total, dlprof_intervals_union(list, count, &at));
    return total;
}
