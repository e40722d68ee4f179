/* The work of a step as a strip: its time is cut into bins, and each moment of a bin counts once: as computing if a
 * kernel ran, else as communication if one of NCCL did, else as copying if memory was copied or filled, else as idle.
 * Steps without a GPU compute and communicate on threads (step_threads.h). */
#ifndef TACHO_VIEW_STEPS_STEP_STRIPS_H
#define TACHO_VIEW_STEPS_STEP_STRIPS_H

#include "strip_works.h"

/* Starts from {0}; one for many strips. */
struct strip {
    int64_t ns[STRIP_PARTS];  /* over the whole step */
    int64_t *bins;            /* owned; bin_count times STRIP_PARTS: the same for each bin */
    size_t bin_count;
    int64_t bin_ns;
    struct strip_works works; /* owned */
};

/* Makes room for so many bins; ERR_NO_MEMORY or 0. */
int strip_open(struct strip *strip, size_t bin_count, int64_t bin_ns);
void strip_free(struct strip *strip);

/* The strip of an event of a row of steps, from the GPU work of its process, else of its rank, else of all; without any
 * GPU work, from the threads of its process. ERR_NO_MEMORY or 0. */
int strip_fill(struct strip *strip, const struct view *view, int row, uint32_t event);

#endif
