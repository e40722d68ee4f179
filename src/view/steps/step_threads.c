/* The work of threads: see step_threads.h. A thread that waits in a call of MPI usually spins, so that it runs all the
 * time: its calls are cut out of the time in which it ran. */
#include "step_threads.h"

#include <stdlib.h>

/* ---- one thread ------------------------------------------------------------------------------------------------ */

/* Calls may lie in each other. Those from `first` on become a list by time in which none overlap. */
static void join_calls(struct strip_works *works, size_t first)
{
    struct strip_work *list = works->list;
    size_t last = first;

    if (works->count - first < 2)
        return;
    qsort(list + first, works->count - first, sizeof *list, strip_works_by_begin);
    for (size_t i = first + 1; i < works->count; i++)
        if (list[i].from_ns > list[last].to_ns)
            list[++last] = list[i];
        else if (list[i].to_ns > list[last].to_ns)
            list[last].to_ns = list[i].to_ns;
    works->count = last + 1;
}

/* Adds a span less the calls from *call up to `behind`. Spans come in order of time: *call is moved past the calls that
 * lie before this one. */
static int add_between_calls(struct strip_works *works, size_t *call, size_t behind, struct strip_work stretch)
{
    while (*call < behind && works->list[*call].to_ns <= stretch.from_ns)
        ++*call;
    for (size_t i = *call; i < behind && works->list[i].from_ns < stretch.to_ns; i++) {
        const struct strip_work own = works->list[i];
        if (own.from_ns > stretch.from_ns &&
            strip_works_add(works, (struct strip_work){ stretch.from_ns, own.from_ns, STRIP_COMPUTE }) != 0)
            return ERR_NO_MEMORY;
        stretch.from_ns = own.to_ns;
    }
    return stretch.from_ns < stretch.to_ns ? strip_works_add(works, stretch) : 0;
}

/* Subtracts the calls from `first` on from the spans from `behind` on, in which the thread ran. */
static int cut_out_calls(struct strip_works *works, size_t first, size_t behind)
{
    size_t call = first, end = works->count;

    for (size_t i = behind; i < end; i++) {
        const struct strip_work stretch = works->list[i];
        works->list[i].to_ns = stretch.from_ns;
        if (add_between_calls(works, &call, behind, stretch) != 0)
            return ERR_NO_MEMORY;
    }
    return 0;
}

/* thread: the group of its rows. state: the row of its states, or NULL: they were not recorded. */
static int step_threads_add_thread(struct strip_works *works, const struct view *view, const struct view_row *thread,
                                   const struct view_row *state, const struct report_span *span)
{
    size_t first = works->count;

    for (const struct view_row *row = thread + 1; row < view->rows + thread->behind; row++)
        if (row->type == ROW_THREAD_OTHER && strip_works_add_row(works, row, span, WORK_COMMUNICATION) != 0)
            return ERR_NO_MEMORY;
    join_calls(works, first);
    size_t behind = works->count;
    if (state ? strip_works_add_row(works, state, span, WORK_RUNNING) != 0
              : behind > first &&
                    strip_works_add(works, (struct strip_work){ 0, span->to_ns - span->from_ns, STRIP_COMPUTE }) != 0)
        return ERR_NO_MEMORY;
    return cut_out_calls(works, first, behind);
}

/* ---- all threads ----------------------------------------------------------------------------------------------- */

static const struct view_row *step_threads_state_of(const struct view *view, const struct view_row *thread)
{
    for (const struct view_row *row = thread + 1; row < view->rows + thread->behind; row++)
        if (row->type == ROW_STATE)
            return row;
    return NULL;
}

static int has_states(const struct view *view, int64_t process)
{
    for (size_t r = 0; r < view->row_count; r++)
        if (view->rows[r].type == ROW_STATE && view->rows[r].process == process)
            return 1;
    return 0;
}

int strip_add_threads(struct strip_works *works, const struct view *view, const struct view_row *steps,
                      const struct report_span *span)
{
    int is_known = has_states(view, steps->process);

    for (size_t r = 0; r < view->row_count; r++) {
        const struct view_row *row = &view->rows[r];
        if (row->type != ROW_THREAD || row->process != steps->process)
            continue;
        const struct view_row *state = is_known ? step_threads_state_of(view, row) : NULL;
        if ((state || !is_known) && step_threads_add_thread(works, view, row, state, span) != 0)
            return ERR_NO_MEMORY;
    }
    return 0;
}
