/* OpenMP's events to rows: see openmp_rows.h. The columns of a row are those that openmp_events.def lists. */
#include "openmp_rows.h"

#include <string.h>

#include "abi/openmp/ompt.h"
#include "base/text.h"
#include "collect/core/collector.h"
#include "collect/process/process.h"
#include "collect/sources/stacks/stack_rows.h"

#define EVENT_CLASS_OPENMP 78 /* nsys's number of OpenMP events */

/* ---- Names ----------------------------------------------------------------------------------------------------- */

enum openmp_rows_names { NAMES_NONE, NAMES_THREAD, NAMES_SYNC, NAMES_TASK, NAMES_WORK, NAMES_MUTEX };

/* By value of OMPT. */
static const char *const openmp_rows_kind_names[][OPENMP_KINDS] = {
    [NAMES_THREAD] = { [1] = "Initial", [2] = "Worker" },
    [NAMES_SYNC] = { [1] = "Barrier",
                     [2] = "Implicit barrier",
                     [3] = "Explicit barrier",
                     [4] = "Implementation barrier",
                     [5] = "Taskwait",
                     [6] = "Taskgroup",
                     [7] = "Reduction",
                     [8] = "Implicit barrier of work sharing",
                     [9] = "Implicit barrier of a region",
                     [10] = "Barrier of teams" },
    [NAMES_TASK] = { [1] = "Initial", [2] = "Implicit", [4] = "Explicit", [8] = "Target" },
    [NAMES_WORK] = { [1] = "Loop",
                     [2] = "Sections",
                     [3] = "Single",
                     [4] = "Single (other threads)",
                     [5] = "Workshare",
                     [6] = "Distribute",
                     [7] = "Taskloop",
                     [8] = "Scope",
                     [10] = "Loop, static",
                     [11] = "Loop, dynamic",
                     [12] = "Loop, guided",
                     [13] = "Loop, other" },
    [NAMES_MUTEX] = { [1] = "Lock",
                      [2] = "Test lock",
                      [3] = "Nest lock",
                      [4] = "Test nest lock",
                      [5] = "Critical",
                      [6] = "Atomic",
                      [7] = "Ordered" },
};

/* What a kind without a name is called. */
static const char *const other_names[] = {
    [NAMES_THREAD] = "Other",      [NAMES_SYNC] = "Synchronization", [NAMES_TASK] = "Other",
    [NAMES_WORK] = "Work sharing", [NAMES_MUTEX] = "Mutex",          [NAMES_NONE] = ""
};

/* ---- Columns --------------------------------------------------------------------------------------------------- */

enum openmp_rows_value {
    VALUE_KIND,
    VALUE_INDEX,
    VALUE_THREADS,
    VALUE_PARALLEL,
    VALUE_TASK,
    VALUE_VALUE,
    VALUE_PLACE,
    VALUE_INCOMPLETE
};

struct openmp_rows_column {
    uint8_t number, value; /* of the table; enum openmp_rows_value */
};
enum { OWN_COLUMNS = 6 };

static const struct openmp_rows_kind {
    enum table_id table;
    uint8_t kind, names;
    const char *text;
    struct openmp_rows_column columns[OWN_COLUMNS + 1]; /* a column 0 ends them */
} openmp_rows_kinds[WIRE_OPENMP_EVENTS] = {
#define TO(id, column, value) { OPENMP_EVENT_KIND_##id##_##column, VALUE_##value },
#define OPENMP_EVENT(id, kind, text, names, columns)                                                                   \
    [WIRE_OPENMP_##id] = { TABLE_OPENMP_EVENT_KIND_##id, kind, NAMES_##names, text, { columns } },
#include "wire/openmp_events.def"
#undef TO
#undef OPENMP_EVENT
};

/* The first columns are the same in all tables. */
enum { COLUMN_START, COLUMN_END, COLUMN_CLASS, COLUMN_THREAD, COLUMN_CORRELATION, COLUMN_NAME, COLUMN_KIND };
#define OPENMP_EVENT(id, ...)                                                                                          \
    _Static_assert((int)OPENMP_EVENT_KIND_##id##_start == COLUMN_START &&                                              \
                       (int)OPENMP_EVENT_KIND_##id##_end == COLUMN_END &&                                              \
                       (int)OPENMP_EVENT_KIND_##id##_eventClass == COLUMN_CLASS &&                                     \
                       (int)OPENMP_EVENT_KIND_##id##_globalTid == COLUMN_THREAD &&                                     \
                       (int)OPENMP_EVENT_KIND_##id##_nameId == COLUMN_NAME &&                                          \
                       (int)OPENMP_EVENT_KIND_##id##_eventKind == COLUMN_KIND &&                                       \
                       (int)OPENMP_EVENT_KIND_##id##_COLUMN_COUNT <= COLUMN_KIND + 1 + OWN_COLUMNS,                    \
                   "the common columns, and room for its own");
#include "wire/openmp_events.def"
#undef OPENMP_EVENT

struct openmp_row_values {
    uint64_t present;
    int64_t values[COLUMN_KIND + 1 + OWN_COLUMNS];
};

static void openmp_rows_set(struct openmp_row_values *row, unsigned column, int64_t value)
{
    row->present |= UINT64_C(1) << column;
    row->values[column] = value;
}

static int64_t openmp_rows_name_id(struct collector *collector, const struct openmp_event *event)
{
    struct openmp_names *names = collector->state[COLLECT_SOURCE_OPENMP];
    const struct openmp_rows_kind *kind = &openmp_rows_kinds[event->event];
    uint32_t number = kind->names && event->kind < OPENMP_KINDS ? event->kind : 0;
    int64_t *id = &names->ids[event->event][number];
    if (*id == 0) {
        const char *name = kind->names ? openmp_rows_kind_names[kind->names][number] : NULL;
        struct text text = { 0 };
        text_addf(&text, "%s%s", name ? name : other_names[kind->names], kind->text);
        *id = writer_string(collector->writer, text_string(&text), text.length);
        text_free(&text);
    }
    return *id;
}

static int64_t place_id(const struct collect_origin *origin, uint64_t address)
{
    struct openmp_names *names = origin->collector->state[COLLECT_SOURCE_OPENMP];
    const size_t i = address / 2 % OPENMP_PLACES_KNOWN;
    if (!address)
        return 0;
    if (names->places[i].process != origin->process->global_pid || names->places[i].address != address) {
        names->places[i].process = origin->process->global_pid;
        names->places[i].address = address;
        names->places[i].chain = stacks_return_address(origin->process, WIRE_SOURCE_OPENMP, address);
    }
    return names->places[i].chain;
}

/* Another process may get its number, another object its addresses. */
void openmp_forget_places(const struct process *process, uint64_t first, uint64_t bytes)
{
    struct openmp_names *names = process->collector->state[COLLECT_SOURCE_OPENMP];
    for (size_t i = 0; names && i < OPENMP_PLACES_KNOWN; i++)
        if (names->places[i].process == process->global_pid && names->places[i].address - first < bytes)
            names->places[i].address = 0;
}

/* nsys's enums have the values of OpenMP 5.0. Later versions tell some kinds apart that are one there; the name of the
 * event still does. */
static uint32_t kind_of_nsys(const struct openmp_event *event)
{
    static const struct {
        uint8_t event, first, last, kind;
    } newer[] = {
        { WIRE_OPENMP_SYNC_REGION, OMPT_SYNC_BARRIER_WORKSHARE, OMPT_SYNC_BARRIER_PARALLEL,
          OMPT_SYNC_BARRIER_IMPLICIT },
        { WIRE_OPENMP_SYNC_REGION, OMPT_SYNC_BARRIER_TEAMS, OMPT_SYNC_BARRIER_TEAMS, OMPT_SYNC_BARRIER },
        { WIRE_OPENMP_SYNC_REGION_WAIT, OMPT_SYNC_BARRIER_WORKSHARE, OMPT_SYNC_BARRIER_PARALLEL,
          OMPT_SYNC_BARRIER_IMPLICIT },
        { WIRE_OPENMP_SYNC_REGION_WAIT, OMPT_SYNC_BARRIER_TEAMS, OMPT_SYNC_BARRIER_TEAMS, OMPT_SYNC_BARRIER },
        { WIRE_OPENMP_WORKSHARE, OMPT_WORK_LOOP_STATIC, OMPT_WORK_LOOP_OTHER, OMPT_WORK_LOOP },
        { WIRE_OPENMP_WORKSHARE, OMPT_WORK_SCOPE, OMPT_WORK_SCOPE, OMPT_WORK_WORKSHARE },
        { WIRE_OPENMP_DISPATCH, OMPT_DISPATCH_LOOP_CHUNK, OMPT_DISPATCH_DISTRIBUTE_CHUNK, OMPT_DISPATCH_ITERATION },
    };
    for (size_t i = 0; i < COUNT_OF(newer); i++)
        if (newer[i].event == event->event && newer[i].first <= event->kind && event->kind <= newer[i].last)
            return newer[i].kind;
    return event->kind;
}

/* Values that may be unknown are 0 then, and their column NULL. */
static void set_own_columns(struct openmp_row_values *row, const struct collect_origin *origin,
                            const struct openmp_event *event, int is_cut)
{
    const int64_t values[] = {
        [VALUE_KIND] = kind_of_nsys(event),
        [VALUE_INDEX] = event->index,
        [VALUE_THREADS] = event->threads,
        [VALUE_PARALLEL] = (int64_t)event->parallel,
        [VALUE_TASK] = (int64_t)event->task,
        [VALUE_VALUE] = (int64_t)event->value,
        [VALUE_PLACE] = place_id(origin, event->address),
        [VALUE_INCOMPLETE] = is_cut,
    };
    for (const struct openmp_rows_column *column = openmp_rows_kinds[event->event].columns; column->number; column++) {
        int is_known = column->value == VALUE_KIND || column->value == VALUE_VALUE ||
                       (column->value == VALUE_INDEX && wire_openmp_is_implicit(event->task)) ||
                       (column->value != VALUE_INDEX && values[column->value] != 0);
        if (is_known)
            openmp_rows_set(row, column->number, values[column->value]);
    }
}

void openmp_row(const struct collect_origin *origin, const struct openmp_event *event, int64_t end_ns, int is_cut)
{
    struct collector *collector = origin->collector;
    int64_t start_ns = clock_map_time(&collector->clock, event->ticks);
    struct openmp_row_values row = { 0 };
    openmp_rows_set(&row, COLUMN_START, start_ns);
    openmp_rows_set(&row, COLUMN_END, end_ns < start_ns ? start_ns : end_ns);
    openmp_rows_set(&row, COLUMN_CLASS, EVENT_CLASS_OPENMP);
    openmp_rows_set(&row, COLUMN_THREAD, process_global_tid(origin->process, origin->reader->tid));
    openmp_rows_set(&row, COLUMN_NAME, openmp_rows_name_id(collector, event));
    openmp_rows_set(&row, COLUMN_KIND, openmp_rows_kinds[event->event].kind);
    set_own_columns(&row, origin, event, is_cut);
    writer_append(collector->writer, openmp_rows_kinds[event->event].table, &row);
    origin->process->counts[WIRE_SOURCE_OPENMP].recorded++;
}
