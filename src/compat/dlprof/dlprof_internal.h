/* Functions that the reader and the reports share. */
#ifndef TACHO_COMPAT_DLPROF_DLPROF_INTERNAL_H
#define TACHO_COMPAT_DLPROF_DLPROF_INTERNAL_H

#include "analyze/model/calls.h"
#include "analyze/model/torch/literals.h"
#include "dlprof.h"

/* Adds a text and returns its number; UINT32_MAX when memory is short. */
uint32_t dlprof_intern(struct dlprof *dlprof, const char *bytes, size_t length);
/* The same for a text that was built; empties it. */
uint32_t dlprof_intern_built(struct dlprof *dlprof, struct text *built);
/* A new call of an operator, or NULL. */
struct dlprof_call *dlprof_add_call(struct dlprof *dlprof);

/* Sources of operators. Each adds calls. */
int dlprof_read_markers(struct dlprof *dlprof, struct error *err);
int dlprof_read_operators(struct dlprof *dlprof, struct error *err);
int dlprof_read_domain(struct dlprof *dlprof, const char *domain, struct error *err);

/* Sets the details of calls, from the operators of PyTorch in them. */
int dlprof_read_details(struct dlprof *dlprof, struct error *err);

/* Finds the operator of each CUDA call, adds the unassociated ones, and reads the GPU work with all times of calls. The
 * operators' calls must be there; they are in order of time afterwards. */
int dlprof_read_works(struct dlprof *dlprof, struct error *err);

/* Sorts calls by thread and time; the index of the one of this thread that runs at this time, or SIZE_MAX. */
void dlprof_sort_by_thread(struct dlprof *dlprof);
size_t dlprof_call_at(const struct dlprof *dlprof, int64_t thread, int64_t time_ns);

/* Splits into iterations, finds the operators, and drops the calls and the work of other iterations. */
int dlprof_split(struct dlprof *dlprof, const struct dlprof_request *request, struct error *err);

/* ---- arguments ------------------------------------------------------------------------------------------------- */

/* An argument of an operator: a tensor, or a value. */
struct dlprof_argument {
    struct literal name, shape, data_type, value; /* one with a shape is a tensor */
};
enum { DLPROF_MOST_ARGUMENTS = 32 };

/* Sets data type, shapes and parameters; the type must be set. */
int dlprof_describe(struct dlprof *dlprof, struct dlprof_words *words, const struct dlprof_argument *arguments,
                    size_t count);

/* ---- intervals ------------------------------------------------------------------------------------------------- */

struct dlprof_interval {
    int64_t group, start_ns, end_ns;
};
/* Sorts by group and start. */
void dlprof_intervals_sort(struct dlprof_interval *list, size_t count);
/* The time that the sorted intervals of one group cover; *at is the first of them, and then the first of the next
 * group. */
int64_t dlprof_intervals_union(const struct dlprof_interval *list, size_t count, size_t *at);
/* The same over all groups. */
int64_t dlprof_intervals_total(const struct dlprof_interval *list, size_t count);

/* ---- tables ---------------------------------------------------------------------------------------------------- */

/* Total, mean, least and greatest, in four cells. */
struct statistics;
void dlprof_set_figures(struct table_cell *cells, const struct statistics *figures);
int dlprof_set_text(struct table *table, struct table_cell *cell, const struct dlprof *dlprof, uint32_t text);
const char *dlprof_direction_name(enum dlprof_direction direction);
const char *dlprof_yes(int is_so);

/* Hands a table over as the only part of a report, after an error too. */
int dlprof_hand_over(struct table *table, int code, const char *title, struct dlprof_tables *out, struct error *err);

dlprof_run dlprof_detailed, dlprof_op_type, dlprof_group_op, dlprof_kernel, dlprof_iteration, dlprof_tensor_core,
    dlprof_summary, dlprof_expert_systems;

#endif
