/* The request to a report or a rule: options, a span of time, and a filter. */
#ifndef TACHO_ANALYZE_ENGINE_REQUEST_H
#define TACHO_ANALYZE_ENGINE_REQUEST_H

#include <stddef.h>
#include <stdint.h>

#include "report/reader/reader.h"

/* Options given after a report's name (um_sum:rows=5): name and value, value NULL for a bare flag. */
struct analysis_option {
    const char *name, *value;
};

struct gpu_metrics_share;
struct findings_share;

/* The steps of a report, for analyze/model/steps.h: the engine only names them. */
struct step {
    int64_t process, start_ns, end_ns;
    int64_t number; /* from its name, else counted from 0 in its process */
    int64_t name;   /* in the string pool, or one of these */
    int is_chosen;
    int is_warm_up; /* at the start of its process, before the steps are steady: means leave it out */
};

struct step_process {
    int64_t process;
    size_t first, count; /* of its steps in the list */
};

enum { STEPS_SOURCE_BYTES = 128 };
struct steps {
    struct step *list;               /* owned; by process, then by start; those of a process do not overlap */
    size_t count;
    struct step_process *processes;  /* owned; by process; includes processes that have the steps of another */
    size_t process_count, own_count; /* own: processes with steps of their own */
    size_t process_room;
    char source[STEPS_SOURCE_BYTES]; /* the origin of the steps, in words: "steps by …" */
    int are_ranges;                  /* that the program names: it may do work between two of them */
};

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
    int is_whole;                         /* however long the capture is: advice is from all steps, not from a window */
    struct gpu_metrics_share *metrics;    /* of the rules that run one after the other; NULL: each reads for itself */
    struct findings_share *findings;      /* of the reports that print them; NULL: each runs the rules for itself */
    const struct analysis_share *share;   /* NULL: a table is wanted */
    size_t first_rows;                    /* the number of rows that are enough; a trace then reads no more, and
                                           * table_total() has the number of all. 0: all rows are wanted */
};

#endif
