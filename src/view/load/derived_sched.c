/* Rows of thread states, and of the threads that ran on each CPU, from the context switches in SCHED_EVENTS.
 *
 * A thread runs from the time it is scheduled in to the time it is scheduled out; from then to the next time it is
 * runnable or blocked, as the reason of the switch says. Its state is unknown before its first switch and after its
 * last. */
#include <stdlib.h>

#include "analyze/engine/event_columns.h"
#include "analyze/engine/order.h"
#include "analyze/model/threads.h"
#include "derived.h"

enum { START, CPU, IN, THREAD, STATE, COLUMNS };
enum { WHY_TERMINATED = 5, WHY_UNSCHEDULED = 6 }; /* ENUM_SAMPLING_THREAD_STATE */

static const struct view_source state_source[] = { { .table = "SCHED_EVENTS",
                                                     .start = "start",
                                                     .type = ROW_STATE,
                                                     .work_of = derived_state_work,
                                                     .key = { "globalTid" } } };
static const struct view_family states = { state_source, 1 };
static const struct view_source cpu_source[] = {
    { .table = "SCHED_EVENTS", .start = "start", .type = ROW_CPU_THREADS, .work = WORK_RUNNING, .key = { "cpu" } }
};
static const struct view_family cpus = { cpu_source, 1 };

struct switches {
    struct view *view;
    struct report_columns columns;
    uint32_t *order; /* owned; by thread, then by time */
    struct gather states, cpus;
    struct thread_names names;
    int has_systems; /* the report was made of several: CPUs of different hosts have the same numbers */
};

static int64_t derived_sched_value(const struct switches *switches, int column, size_t i)
{
    return switches->columns.values[column][switches->order[i]];
}

static uint32_t thread_label(const struct switches *switches, int64_t thread)
{
    const struct thread_name *name = thread_name_find(&switches->names, thread);

    if (name)
        return view_pool_name(name->name);
    text_clear(&switches->view->scratch);
    text_addf(&switches->view->scratch, "Thread %lld", (long long)global_tid_number(thread));
    return view_own_name(switches->view, text_string(&switches->view->scratch));
}

/* Adds the time between a switch and the next one of the same thread. */
static int derived_sched_add_stretch(struct switches *switches, size_t i, uint32_t label)
{
    int is_in = derived_sched_value(switches, IN, i) != 0;
    int64_t why = columns_is_null(&switches->columns, STATE, switches->order[i])
                      ? 0
                      : derived_sched_value(switches, STATE, i);
    struct view_taken event = {
        .start_ns = derived_sched_value(switches, START, i),
        .end_ns = derived_sched_value(switches, START, i + 1),
        .table_row = switches->order[i],
        .key = { ROW_STATE, derived_sched_value(switches, THREAD, i) },
    };

    if (!is_in && why == WHY_TERMINATED)
        return 0;
    event.name = derived_state_name(switches->view, is_in                    ? STATE_RUNNING
                                                    : why == WHY_UNSCHEDULED ? STATE_RUNNABLE
                                                                             : STATE_BLOCKED);
    int code = gather_add(&switches->states, 0, &event);
    if (code != 0 || !is_in)
        return code;
    event.key[KEY_TYPE] = ROW_CPU_THREADS;
    event.key[KEY_B] = switches->has_systems ? job_rows_system(event.key[KEY_A]) : 0;
    event.key[KEY_A] = derived_sched_value(switches, CPU, i);
    event.name = label;
    return gather_add(&switches->cpus, 0, &event);
}

static int derived_sched_add_stretches(struct switches *switches)
{
    uint32_t label = VIEW_NAME_NONE;

    for (size_t i = 0; i + 1 < switches->columns.rows; i++) {
        if (i == 0 || derived_sched_value(switches, THREAD, i) != derived_sched_value(switches, THREAD, i - 1))
            label = thread_label(switches, derived_sched_value(switches, THREAD, i));
        if (derived_sched_value(switches, THREAD, i) == derived_sched_value(switches, THREAD, i + 1) &&
            derived_sched_add_stretch(switches, i, label) != 0)
            return ERR_NO_MEMORY;
    }
    return 0;
}

static int sort_switches(struct switches *switches)
{
    struct report_columns *columns = &switches->columns;

    columns_fill_nulls(columns, THREAD, 0);
    columns_fill_nulls(columns, START, 0);
    switches->order = malloc(columns->rows * sizeof *switches->order);
    if (!switches->order)
        return ERR_NO_MEMORY;
    for (size_t i = 0; i < columns->rows; i++)
        switches->order[i] = (uint32_t)i;
    return order_by_thread(switches->order, columns->rows, columns->values[THREAD], columns->values[START]);
}

static int derived_sched_add_rows(struct switches *switches, struct error *err)
{
    struct view *view = switches->view;
    int code;

    if (sort_switches(switches) != 0)
        return error_short_memory(err, "for the states of threads");
    if ((code = thread_names_read(&switches->names, view->report, err)) != 0 ||
        (code = gather_open(&switches->states, view, &states, err)) != 0 ||
        (code = gather_open(&switches->cpus, view, &cpus, err)) != 0)
        return code;
    if (derived_sched_add_stretches(switches) != 0)
        return error_short_memory(err, "for the states of threads");
    if ((code = gather_finish(&switches->states, err)) != 0)
        return code;
    return gather_finish(&switches->cpus, err);
}

int derived_sched(struct view *view, struct error *err)
{
    static const char *const names[COLUMNS] = { "start", "cpu", "isSchedIn", "globalTid", "threadState" };
    struct switches switches = { .view = view, .has_systems = report_rows(view->report, "TACHO_CLOCK_OFFSET") > 0 };
    int code;

    if ((code = columns_read(view->report, "SCHED_EVENTS", names, COLUMNS, &switches.columns, err)) != 0)
        goto done;
    if (switches.columns.rows && switches.columns.rows < UINT32_MAX)
        code = derived_sched_add_rows(&switches, err);
done:
    gather_close(&switches.states);
    gather_close(&switches.cpus);
    thread_names_free(&switches.names);
    free(switches.order);
    report_columns_free(&switches.columns);
    return code;
}
