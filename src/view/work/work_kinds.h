/* The kind of an event: a kernel, a copy, a call that waits, … The page colours events by it, and a folded group shows
 * how much of the time the rows below it were busy with each.
 *
 * The kind follows from the table of the event (event_sources.c), and for some tables from the name too: a kernel of
 * NCCL is communication. */
#ifndef TACHO_VIEW_WORK_WORK_KINDS_H
#define TACHO_VIEW_WORK_WORK_KINDS_H

#include <stddef.h>
#include <stdint.h>

/* The lanes of a folded group. */
enum work_lane { LANE_GPU, LANE_COMMUNICATION, LANE_COPIES, LANE_CPU, LANE_RUNNING, WORK_LANES };

/* X(id, lane in a folded group): the numbers are those of tiles, and web/src/timeline/kinds.ts has the same order. */
#define WORK_KIND_LIST(X)                                                  \
    X(OTHER, LANE_CPU)                                                     \
    X(KERNEL, LANE_GPU)                                                    \
    X(COMMUNICATION, LANE_COMMUNICATION)                                   \
    X(H2D, LANE_COPIES)                                                    \
    X(D2H, LANE_COPIES)                                                    \
    X(COPY, LANE_COPIES)                                                   \
    X(FILL, LANE_COPIES)                                                   \
    X(WAIT, LANE_CPU)       /* a call that waits */                        \
    X(CALL, LANE_CPU)                                                      \
    X(RANGE, LANE_CPU)      /* an NVTX range, an operator, a Python function */  \
    X(RUNNING, LANE_RUNNING) /* a thread on a processor */                 \
    X(NONE, WORK_LANES)     /* not busy: a thread that waits */
enum work_kind {
#define WORK_KIND_ID(id, lane) WORK_##id,
    WORK_KIND_LIST(WORK_KIND_ID) WORK_KINDS
#undef WORK_KIND_ID
};
_Static_assert(WORK_KINDS <= 16, "a tag has four bits for the kind");

extern const uint8_t work_lanes[WORK_KINDS];

/* The kinds of tables whose events are of several, by the name of the event. */
enum work_kind work_of_kernel(const char *name, size_t length);
enum work_kind work_of_copy(const char *name, size_t length);
enum work_kind work_of_cuda_call(const char *name, size_t length);
enum work_kind work_of_os_call(const char *name, size_t length);
enum work_kind work_of_range(const char *name, size_t length);

#endif
