/* A report as if nothing but a span of time had been recorded.
 *
 * What an analysis reads of it are the rows that begin in the span. Rows that describe others are all there: processes,
 * threads, names, steps that were only timed (schema_is_kept_whole()). Chunks outside of the span are never decoded, so
 * that a window of a long capture costs what a capture of that length does. */
#ifndef TACHO_REPORT_READER_WINDOW_H
#define TACHO_REPORT_READER_WINDOW_H

#include "reader.h"

/* Tables of what happens some time after it was asked for, by name, NULL-terminated: of these, rows that begin up to
 * to_ns are read. */
struct report_late {
    const char *const *tables;
    int64_t to_ns;
};

/* Opens the file of a report once more. The window must be closed before the other. late: NULL: no table is longer.
 * ERR_UNSUPPORTED for a set. */
int report_open_window(struct report *report, const struct report_span *span, const struct report_late *late,
                       struct report **out, struct error *err);

#endif
