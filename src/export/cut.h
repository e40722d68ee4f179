/* A part of a report as a report of its own: the requested rows, the rows that describe them, and the strings that they
 * refer to.
 *
 * Tables that describe events (processes, threads, clocks, names) are kept whole whatever the part is; stacks are
 * kept if an event that is kept has them. */
#ifndef TACHO_EXPORT_CUT_H
#define TACHO_EXPORT_CUT_H

#include "base/text.h"
#include "export.h"

/* Writes the part that the options name to path. If it exceeds options->max_bytes (less `taken`, the size of the page
 * around it), it is cut further, to a window of time (cut_window.h), until it fits; each of its bytes counts as
 * `scale_percent` hundredths of one. ERR_NO_SPACE: no part fits. */
struct cut_size {
    uint64_t taken;
    unsigned scale_percent;
};
int cut_report(struct report *report, const char *path, const struct export_options *options, struct cut_size size,
               struct error *err);

#endif
