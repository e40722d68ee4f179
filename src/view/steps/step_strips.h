/* What the GPUs did in a step, as a strip: its time from the step's begin is cut into bins, and each moment of a bin
 * counts once: as computing if a kernel ran, else as communication if one of NCCL did, else as copying if memory was
 * copied or filled, else as idle. */
#ifndef TACHO_VIEW_STEPS_STEP_STRIPS_H
#define TACHO_VIEW_STEPS_STEP_STRIPS_H

#include "view/load/view_state.h"

/* In the order in which they count where several run at the same time. */
enum strip_part { STRIP_COMPUTE, STRIP_COMMUNICATION, STRIP_COPIES, STRIP_PARTS };

struct strip_work {
    int64_t from_ns, to_ns; /* since the begin of the step */
    enum strip_part part;
};

/* Starts from {0}; one for many strips. */
struct strip {
    int64_t ns[STRIP_PARTS];  /* of the whole step */
    int64_t *bins;            /* owned; bin_count times STRIP_PARTS: the same of each bin */
    size_t bin_count;
    int64_t bin_ns;
    struct strip_work *works; /* owned */
    size_t work_count, work_room;
};

/* Makes room for so many bins; ERR_NO_MEMORY or 0. */
int strip_open(struct strip *strip, size_t bin_count, int64_t bin_ns);
void strip_free(struct strip *strip);

/* The strip of an event of a row of steps: of the GPU work of its process, and if that has none, of its rank, else of
 * all. ERR_NO_MEMORY or 0. */
int strip_fill(struct strip *strip, const struct view *view, int row, uint32_t event);

#endif
