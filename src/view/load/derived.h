/* Rows of derived events: they are computed from the rows of a table, and refer to the first of those rows. */
#ifndef TACHO_VIEW_LOAD_DERIVED_H
#define TACHO_VIEW_LOAD_DERIVED_H

#include "analyze/idle/gap_causes.h"
#include "gather_rows.h"

/* States of threads and GPUs. A state's number is its colour; its work is the kind of work that keeps the thread busy.
 * The causes of gaps follow, in the order of enum gap_cause. */
#define VIEW_STATES(X)                                   \
    X(STATE_RUNNING, "Running", WORK_RUNNING)            \
    X(STATE_RUNNABLE, "Runnable", WORK_NONE)             \
    X(STATE_BLOCKED, "Blocked", WORK_NONE)               \
    X(STATE_GIL_HELD, "Holds the GIL", WORK_RUNNING)     \
    X(STATE_GIL_AWAITED, "Waits for the GIL", WORK_NONE) \
    X(STATE_IDLE, "Idle", WORK_NONE)
enum view_state_number {
#define STATE_NUMBER(id, name, work) id,
    VIEW_STATES(STATE_NUMBER) VIEW_STATE_COUNT,
#undef STATE_NUMBER
    STATE_FIRST_CAUSE = VIEW_STATE_COUNT
};

/* Adds all derived rows to the leaves of the view. */
int derived_rows(struct view *view, struct error *err);

/* The colour of a name in a row: the number of the state in a row of states, else a hash of the text. */
uint8_t view_colour(struct view *view, const struct view_row *row, uint32_t name);
/* A hash of the text of a name. */
uint8_t view_name_colour(struct view *view, uint32_t name);
/* The name of a state: the first function while the view is being opened, the second one later. That returns
 * VIEW_NAME_NONE if no row has the state. */
uint32_t derived_state_name(struct view *view, enum view_state_number state);
uint32_t derived_state_find(const struct view *view, enum view_state_number state);

/* The work of a state, by its name: for sources of states. */
enum work_kind derived_state_work(const char *name, size_t length);

/* One function for each kind of derived rows, in the file of its name. They add nothing if the report lacks the data.
 */
int derived_sched(struct view *view, struct error *err);
int derived_gil(struct view *view, struct error *err);
int derived_steps(struct view *view, struct error *err);
int derived_gpu_nvtx(struct view *view, struct error *err);

/* The name of the gaps of a cause: see view/idle. */
uint32_t derived_cause_name(const struct view *view, enum gap_cause cause);

#endif
