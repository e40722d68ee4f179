/* The distribution of a report's bytes over time, as its chunks tell without being read, and of its work; and the
 * window of time that a cut to a size keeps. */
#ifndef TACHO_EXPORT_CUT_WINDOW_H
#define TACHO_EXPORT_CUT_WINDOW_H

#include "export.h"

enum { DENSITY_BINS = 4096 };

struct cut_density {
    int64_t from_ns, to_ns;
    double bytes[DENSITY_BINS]; /* by equal parts of that time */
    double total;
    double work[DENSITY_BINS];  /* events that begin in each part, of the kind that people look for: work on GPUs,
                                 * else steps and ranges, else any events */
    const char *where;          /* that kind, as words behind "its events"; static */
};

/* Covers the tables and the time that are exported; the bytes of tables that are kept whole do not count. */
int cut_density(struct cut_density *density, struct report *report, const struct export_options *options,
                const char *const *kept_whole, size_t kept_count, struct error *err);

/* The window with this share of the bytes: the middle one, because programs begin with work that is not typical of
 * them, unless another window has much more work; then the one with most. */
struct report_span cut_window(const struct cut_density *density, double share);

#endif
