/* Where in time the bytes of a report are, as its chunks tell without being read, and the window around their middle. */
#ifndef TACHO_EXPORT_CUT_WINDOW_H
#define TACHO_EXPORT_CUT_WINDOW_H

#include "export.h"

enum { DENSITY_BINS = 4096 };

struct cut_density {
    int64_t from_ns, to_ns;
    double bytes[DENSITY_BINS]; /* equal parts of that time */
    double total;
};

/* Of the tables and the time that are exported, but for tables that are kept whole anyway. */
int cut_density(struct cut_density *density, struct report *report, const struct export_options *options, const char *const *kept_whole,
                size_t kept_count, struct error *err);

/* The window that has this share of the bytes, with as many before it as behind it. The middle, since programs begin with what is
 * not typical of them. */
struct report_span cut_window(const struct cut_density *density, double share);

#endif
