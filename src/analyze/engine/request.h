/* The request to a report or a rule: options, a span of time, and a filter. */
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
struct gpu_metrics_share;

/* The processes, threads, … that events must belong to. A device or a stream does not restrict events of the CPU. The
 * thread of work on a GPU is the one that launched it, and its step the one in which it was launched. */
enum { ONLY_PID = 1, ONLY_TID = 2, ONLY_DEVICE = 4, ONLY_STREAM = 8, ONLY_STEPS = 16 };
struct analysis_filter {
    int only;                  /* ONLY_ bits: the conditions that apply */
    int64_t pid, tid, device, stream;
    const struct steps *steps; /* ONLY_STEPS: those chosen; without the bit, those that reports on steps
                                * shall show, or NULL */
};

/* The bytes of a partial result (summary_partial.h). */
struct analysis_partial {
    const char *bytes;
    size_t length;
};

/* Asks an analysis that can be divided for its result over some parts of a set, as bytes and not as a table. */
struct text;
struct analysis_share {
    struct report *whole; /* the set; what holds for all of its parts is read here */
    struct text *partial; /* the result is appended */
    int *is_bound;        /* becomes 1 if the result depends on the other parts of the set; may be NULL */
};

/* Says so. */
static inline void analysis_share_bind(const struct analysis_share *share)
{
    if (share && share->is_bound)
        *share->is_bound = 1;
}

struct analysis_request {
    const struct analysis_option *options;
    size_t option_count;
    const struct report_span *span;       /* events that overlap it; NULL: the whole report */
    const struct analysis_filter *filter; /* NULL: all events */
    struct gpu_metrics_share *metrics;    /* of the rules that run one after the other; NULL: each reads for itself */
    const struct analysis_share *share;   /* NULL: a table is wanted */
    size_t first_rows;                    /* so many rows are enough; a trace then reads no more, and table_total()
                                           * tells how many there are. 0: all are wanted */
};

#endif
