/* States of threads and what ran on each CPU, from the switches of SCHED_EVENTS.
 *
 * A thread runs from where it was put on a CPU to where it was taken off; from there to the next time it is ready or
 * waits, as the reason says. Before its first switch and behind its last nothing is known. */
#include <stdlib.h>

#include "analyze/engine/event_columns.h"
#include "analyze/engine/order.h"
#include "analyze/model/threads.h"
#include "derived.h"

enum { START, CPU, IN, THREAD, STATE, COLUMNS };
enum { WHY_TERMINATED = 5, WHY_UNSCHEDULED = 6 }; /* ENUM_SAMPLING_THREAD_STATE */

static const struct view_source state_source[] = {
    { .table = "SCHED_EVENTS", .start = "start", .type = ROW_STATE, .key = { "globalTid" } }
};
static const struct view_family states = { state_source, 1 };
static const struct view_source cpu_source[] = {
    { .table = "SCHED_EVENTS", .start = "start", .type = ROW_CPU_THREADS, .key = { "cpu" } }
};
static const struct view_family cpus = { cpu_source, 1 };

struct switches {
    struct view *view;
    struct report_columns columns;
    uint32_t *order; /* owned; by thread, then by time */
    struct gather states, cpus;
    struct thread_names names;
};

static int64_t value(const struct switches *switches, int column, size_t i)
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

/* What lies between a switch and the next of the same thread. */
static int add_stretch(struct switches *switches, size_t i, uint32_t label)
{
    int is_in = value(switches, IN, i) != 0;
    int64_t why = columns_is_null(&switches->columns, STATE, switches->order[i]) ? 0 : value(switches, STATE, i);
    struct view_taken event = {
        .start_ns = value(switches, START, i),
        .end_ns = value(switches, START, i + 1),
        .table_row = switches->order[i],
        .key = { ROW_STATE, value(switches, THREAD, i) },
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
    event.key[KEY_A] = value(switches, CPU, i);
    event.name = label;
    return gather_add(&switches->cpus, 0, &event);
}

static int add_stretches(struct switches *switches, struct error *err)
{
    uint32_t label = VIEW_NAME_NONE;
    int code = 0;

    for (size_t i = 0; i + 1 < switches->columns.rows && code == 0; i++) {
        if (i == 0 || value(switches, THREAD, i) != value(switches, THREAD, i - 1))
            label = thread_label(switches, value(switches, THREAD, i));
        if (value(switches, THREAD, i) == value(switches, THREAD, i + 1))
            code = add_stretch(switches, i, label);
    }
    if (code != 0)
        return error_set(err, code, "not enough memory for the states of threads");
    code = gather_finish(&switches->states, err);
    return code ? code : gather_finish(&switches->cpus, err);
}

int derived_sched(struct view *view, struct error *err)
{
    static const char *const names[COLUMNS] = { "start", "cpu", "isSchedIn", "globalTid", "threadState" };
    struct switches switches = { .view = view };
    int code = columns_read(view->report, "SCHED_EVENTS", names, COLUMNS, &switches.columns, err);

    if (code != 0 || !switches.columns.rows || switches.columns.rows >= UINT32_MAX) {
        report_columns_free(&switches.columns);
        return code;
    }
    columns_fill_nulls(&switches.columns, THREAD, 0);
    columns_fill_nulls(&switches.columns, START, 0);
    switches.order = malloc(switches.columns.rows * sizeof *switches.order);
    for (size_t i = 0; switches.order && i < switches.columns.rows; i++)
        switches.order[i] = (uint32_t)i;
    if (!switches.order || order_by_thread(switches.order, switches.columns.rows, switches.columns.values[THREAD],
                                           switches.columns.values[START]) != 0)
        code = error_set(err, ERR_NO_MEMORY, "not enough memory for the states of threads");
    if (code == 0)
        code = thread_names_read(&switches.names, view->report, err);
    if (code == 0)
        code = gather_open(&switches.states, view, &states, err);
    if (code == 0)
        code = gather_open(&switches.cpus, view, &cpus, err);
    if (code == 0)
        code = add_stretches(&switches, err);
    gather_close(&switches.states);
    gather_close(&switches.cpus);
    thread_names_free(&switches.names);
    free(switches.order);
    report_columns_free(&switches.columns);
    return code;
}
