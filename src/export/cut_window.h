/* The density of a report over time, and the window of time that a cut to a size keeps. Bytes over time come from the
 * sizes and spans of chunks, which are not decoded; work is counted by event. */
#ifndef TACHO_EXPORT_CUT_WINDOW_H
#define TACHO_EXPORT_CUT_WINDOW_H

#include "export.h"

enum { DENSITY_BINS = 4096 };

struct cut_density {
    int64_t from_ns, to_ns;
    double bytes[DENSITY_BINS]; /* by bin of equal length */
    double total;
    double work[DENSITY_BINS];  /* events that begin in each bin, of the kind that people look for: work on GPUs, else
                                 * steps and ranges, else any events */
    const char *where;          /* names that kind, after the words "its events"; static */
};

/* Covers the tables and the time that are exported; the bytes of tables that are kept whole do not count. */
int cut_density(struct cut_density *density, struct report *report, const struct export_options *options,
                struct error *err);

/* The window with this share of the bytes: the middle one, because programs begin with work that is not typical of
 * them, unless another window has much more work; then the one with most. */
struct report_span cut_window(const struct cut_density *density, double share);

#endif
