/* The work of one step: spans of its time, each of one part. */
#ifndef TACHO_VIEW_STEPS_STRIP_WORKS_H
#define TACHO_VIEW_STEPS_STRIP_WORKS_H

#include "view/load/view_state.h"
#include "view/work/work_kinds.h"

/* In the order in which they count where several run at the same time. */
enum strip_part { STRIP_COMPUTE, STRIP_COMMUNICATION, STRIP_COPIES, STRIP_PARTS };

struct strip_work {
    int64_t from_ns, to_ns; /* since the start of the step */
    enum strip_part part;
};

/* Starts from {0}. */
struct strip_works {
    struct strip_work *list; /* owned */
    size_t count, room;
};

/* Adds work, or the events of a row in a span that are of this kind; WORK_KINDS: all. ERR_NO_MEMORY or 0. */
int strip_works_add(struct strip_works *works, struct strip_work work);
int strip_works_add_row(struct strip_works *works, const struct view_row *row, const struct report_span *span,
                        enum work_kind kind);

/* For qsort(): by their start. */
int strip_works_by_begin(const void *a, const void *b);

#endif
