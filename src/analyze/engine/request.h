/* What a report or a rule is asked for: its options, a span of time, and a filter. */
#ifndef TACHO_ANALYZE_ENGINE_REQUEST_H
#define TACHO_ANALYZE_ENGINE_REQUEST_H

#include <stddef.h>
#include <stdint.h>

#include "report/reader/reader.h"

/* Options given behind a report's name (um_sum:rows=5): name and value, value NULL for a bare flag. */
struct analysis_option {
    const char *name, *value;
};

struct steps;

/* What the events must be of, where that is asked for. A device or a stream says nothing of what runs on the CPU; a
 * thread is, for work on a GPU, the one that launched it, and a step the one in which it was launched. */
enum { ONLY_PID = 1, ONLY_TID = 2, ONLY_DEVICE = 4, ONLY_STREAM = 8, ONLY_STEPS = 16 };
struct analysis_filter {
    int only;                  /* ONLY_ bits: which of these count */
    int64_t pid, tid, device, stream;
    const struct steps *steps; /* ONLY_STEPS: those chosen; without it, those that reports on steps
                                * shall show. May be NULL then */
};

struct analysis_request {
    const struct analysis_option *options;
    size_t option_count;
    const struct report_span *span;       /* NULL: all of the report; else what overlaps it */
    const struct analysis_filter *filter; /* NULL: all of it */
};

#endif
