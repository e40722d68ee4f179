/* The time in which at least N of some intervals are open, as a list of disjoint spans. A search then finds the covered
 * part of any range. */
#ifndef TACHO_ANALYZE_REPORTS_LANES_COVERAGE_H
#define TACHO_ANALYZE_REPORTS_LANES_COVERAGE_H

#include <stddef.h>
#include <stdint.h>

struct coverage_interval {
    int64_t start_ns, end_ns;
};

struct coverage {
    struct coverage_interval *stretches; /* owned; in order of time, without common points */
    int64_t *before_ns;                  /* owned; by span: the total length of the spans before it */
    size_t count, room;
};

/* Intervals may come in any order; those that end before they begin count as empty. least: 1 for their union, 2 for the
 * time in which two or more overlap. ERR_NO_MEMORY or 0. */
int coverage_make(struct coverage *out, const struct coverage_interval *intervals, size_t count, size_t least);
/* The time that both cover. */
int coverage_common(struct coverage *out, const struct coverage *a, const struct coverage *b);
void coverage_free(struct coverage *coverage); /* accepts {0} */

/* ns of [from, to) that are covered. */
int64_t coverage_within(const struct coverage *coverage, int64_t from_ns, int64_t to_ns);

#endif
