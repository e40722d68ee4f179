/* A sweep over the begins and ends of intervals. */
#include "coverage.h"

#include <stdlib.h>

#include "base/array.h"
#include "base/error.h"
#include "base/saturating.h"

/* Spans that touch become one. */
static int coverage_add_stretch(struct coverage *out, int64_t start_ns, int64_t end_ns)
{
    if (end_ns <= start_ns)
        return 0;
    if (out->count && out->stretches[out->count - 1].end_ns == start_ns) {
        out->stretches[out->count - 1].end_ns = end_ns;
        return 0;
    }
    return ARRAY_PUSH(out->stretches, out->room, out->count, (struct coverage_interval){ start_ns, end_ns });
}

static int coverage_sum_up(struct coverage *out)
{
    int64_t sum = 0;

    out->before_ns = malloc((out->count + 1) * sizeof *out->before_ns);
    if (!out->before_ns)
        return ERR_NO_MEMORY;
    for (size_t i = 0; i < out->count; i++) {
        out->before_ns[i] = sum;
        sum = saturating_add(sum, saturating_subtract(out->stretches[i].end_ns, out->stretches[i].start_ns));
    }
    return 0;
}

/* Ends come before begins of the same moment, since an interval does not contain its end. */
static int coverage_sweep(struct coverage *out, const int64_t *starts, const int64_t *ends, size_t count, size_t least)
{
    size_t open = 0, next = 0;
    int64_t since = 0;

    for (size_t ended = 0; ended < count;) {
        if (next < count && starts[next] < ends[ended]) {
            if (++open == least)
                since = starts[next];
            next++;
            continue;
        }
        if (open-- == least && coverage_add_stretch(out, since, ends[ended]) != 0)
            return ERR_NO_MEMORY;
        ended++;
    }
    return coverage_sum_up(out);
}

int coverage_make(struct coverage *out, const struct coverage_interval *intervals, size_t count, size_t least)
{
    int64_t *starts = malloc((count + 1) * sizeof *starts), *ends = malloc((count + 1) * sizeof *ends);
    size_t used = 0;
    int code = ERR_NO_MEMORY;

    *out = (struct coverage){ 0 };
    if (!starts || !ends)
        goto done;
    for (size_t i = 0; i < count; i++)
        if (intervals[i].end_ns > intervals[i].start_ns) {
            starts[used] = intervals[i].start_ns;
            ends[used++] = intervals[i].end_ns;
        }
    qsort(starts, used, sizeof *starts, array_by_int64);
    qsort(ends, used, sizeof *ends, array_by_int64);
    code = coverage_sweep(out, starts, ends, used, least);
done:
    free(starts);
    free(ends);
    return code;
}

int coverage_common(struct coverage *out, const struct coverage *a, const struct coverage *b)
{
    *out = (struct coverage){ 0 };
    for (size_t i = 0, j = 0; i < a->count && j < b->count;) {
        const struct coverage_interval *x = &a->stretches[i], *y = &b->stretches[j];
        int64_t start = x->start_ns > y->start_ns ? x->start_ns : y->start_ns;
        if (coverage_add_stretch(out, start, x->end_ns < y->end_ns ? x->end_ns : y->end_ns) != 0)
            return ERR_NO_MEMORY;
        if (x->end_ns < y->end_ns)
            i++;
        else
            j++;
    }
    return coverage_sum_up(out);
}

void coverage_free(struct coverage *coverage)
{
    free(coverage->stretches);
    free(coverage->before_ns);
    *coverage = (struct coverage){ 0 };
}

/* ns before a moment that are covered. */
static int64_t covered_before(const struct coverage *coverage, int64_t time_ns)
{
    size_t after = BISECT(0, coverage->count, i, coverage->stretches[i].start_ns < time_ns);

    if (!after)
        return 0;
    const struct coverage_interval *last = &coverage->stretches[after - 1];
    int64_t end = last->end_ns < time_ns ? last->end_ns : time_ns;
    return saturating_add(coverage->before_ns[after - 1], saturating_subtract(end, last->start_ns));
}

int64_t coverage_within(const struct coverage *coverage, int64_t from_ns, int64_t to_ns)
{
    return from_ns < to_ns ? covered_before(coverage, to_ns) - covered_before(coverage, from_ns) : 0;
}
