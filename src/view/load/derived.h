/* Rows of events that no table has as they are: they are worked out from one, and refer to the row
 * of it that they begin with. */
#ifndef TACHO_VIEW_LOAD_DERIVED_H
#define TACHO_VIEW_LOAD_DERIVED_H

#include "gather.h"

/* States, whose numbers are their colours. */
#define VIEW_STATES(X)                                \
    X(STATE_RUNNING, "Running")                       \
    X(STATE_RUNNABLE, "Runnable")                     \
    X(STATE_BLOCKED, "Blocked")                       \
    X(STATE_GIL_HELD, "Holds the GIL")                \
    X(STATE_GIL_AWAITED, "Waits for the GIL")
enum view_state_number {
#define STATE_NUMBER(id, name) id,
    VIEW_STATES(STATE_NUMBER) VIEW_STATE_COUNT
#undef STATE_NUMBER
};

/* All of them become leaves of the view. */
int derived_rows(struct view *view, struct error *err);

/* The colour of a name in a row: the number of the state in a row of states, else a hash of the text. */
uint8_t view_colour(struct view *view, const struct view_row *row, uint32_t name);
/* Its name, while the view is being opened; and later, VIEW_NAME_NONE where it has no such state. */
uint32_t derived_state_name(struct view *view, enum view_state_number state);
uint32_t derived_state_find(const struct view *view, enum view_state_number state);

/* One of each: derived_sched.c, derived_gil.c, derived_steps.c, derived_gpu_nvtx.c. Where a report has nothing of
 * the kind, they make nothing. */
int derived_sched(struct view *view, struct error *err);
int derived_gil(struct view *view, struct error *err);
int derived_steps(struct view *view, struct error *err);
int derived_gpu_nvtx(struct view *view, struct error *err);

#endif
