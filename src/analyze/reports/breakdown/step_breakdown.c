/* step_breakdown: the time of each step, split into parts that add up to it.
 *
 * Each moment of a step counts once. If GPUs of the process have work, it counts as the first of these kinds:
 * computing, communication, copies. Else it counts for the cause of the idle time (idle/gap_causes.h). */
#include "step_breakdown.h"

#include <stdlib.h>

#include "analyze/engine/cell_text.h"
#include "analyze/engine/order.h"
#include "analyze/idle/gap_causes.h"
#include "analyze/model/gpu.h"
#include "analyze/model/names/communication.h"
#include "analyze/model/torch/step_times.h"
#include "analyze/model/torch/steps_read.h"
#include "analyze/registry.h"
#include "base/array.h"

enum work_kind { WORK_COMPUTE, WORK_COMMUNICATION, WORK_COPY, WORK_KINDS };
/* Parts of a step: exposed work of each kind, and then the causes of idle time. */
enum { PART_IDLE = WORK_KINDS, PARTS = PART_IDLE + GAP_CAUSES };

struct step_breakdown_work {
    int64_t start_ns, end_ns;
    const char *table;
    uint32_t row;
    uint32_t process; /* index in the list of the steps' processes */
    enum work_kind kind;
};

struct step_parts {
    int64_t ns[PARTS];
    int64_t communication_ns; /* exposed or not */
};

struct step_sweep {
    struct report *report;
    struct steps found;                /* owned, unless the request brought its own */
    const struct steps *steps;
    struct gap_causes causes;
    struct step_breakdown_work *works; /* owned, as all below */
    uint32_t *order;                   /* works by process, then by start */
    size_t count, room;
    struct step_parts *parts;          /* by step */
    size_t process;                    /* the process that is being swept */
};

/* ---- work ------------------------------------------------------------------------------------------------------ */

static int step_breakdown_add_works(struct step_sweep *sweep, const char *table, const struct gpu_ops *ops,
                                    int is_kernel, int is_copy)
{
    for (size_t row = 0; row < ops->count; row++) {
        const struct step_process *own = steps_of(sweep->steps, global_process(ops->process[row]));
        if (!own || ops->end[row] <= ops->start[row])
            continue;
        if (sweep->count == UINT32_MAX ||
            array_reserve(&sweep->works, &sweep->room, sweep->count + 1, sizeof *sweep->works) != 0)
            return ERR_NO_MEMORY;
        int is_communication = is_kernel &&
                               communication_of_kernel(report_string(sweep->report, gpu_extra(ops, 0, row), NULL));
        sweep->works[sweep->count++] = (struct step_breakdown_work){
            .start_ns = ops->start[row],
            .end_ns = ops->end[row],
            .table = table,
            .row = (uint32_t)row,
            .process = (uint32_t)own->first, /* processes that share steps count as one */
            .kind = is_copy            ? WORK_COPY
                    : is_communication ? WORK_COMMUNICATION
                                       : WORK_COMPUTE,
        };
    }
    return 0;
}

static int step_breakdown_read_works(struct step_sweep *sweep, struct error *err)
{
    static const char *const names[] = { "demangledName", NULL };

    for (int table = 0; table < REPLAY_TABLES; table++) {
        struct gpu_ops ops;
        int is_kernel = table == REPLAY_KERNEL, is_copy = table == REPLAY_COPY || table == REPLAY_FILL;
        int code = gpu_read_table(&ops, sweep->report, gpu_busy_tables[table], is_kernel ? names : NULL, err);
        if (code != 0)
            return code;
        if (step_breakdown_add_works(sweep, gpu_busy_tables[table], &ops, is_kernel, is_copy) != 0)
            code = error_short_memory(err, "for the GPU work");
        gpu_free(&ops);
        if (code != 0)
            return code;
    }
    return 0;
}

static int order_works(struct step_sweep *sweep)
{
    int64_t *processes = malloc((sweep->count + 1) * sizeof *processes),
            *starts = malloc((sweep->count + 1) * sizeof *starts);
    int code = ERR_NO_MEMORY;

    sweep->order = malloc((sweep->count + 1) * sizeof *sweep->order);
    if (!processes || !starts || !sweep->order)
        goto done;
    for (size_t i = 0; i < sweep->count; i++) {
        sweep->order[i] = (uint32_t)i;
        processes[i] = sweep->works[i].process;
        starts[i] = sweep->works[i].start_ns;
    }
    code = order_by_thread(sweep->order, sweep->count, processes, starts);
done:
    free(processes);
    free(starts);
    return code;
}

/* ---- the sweep ------------------------------------------------------------------------------------------------- */

/* Adds a span of time to the steps that it overlaps. */
static void step_breakdown_add_time(struct step_sweep *sweep, int part, int64_t start_ns, int64_t end_ns)
{
    const struct step_process *own = &sweep->steps->processes[sweep->process];

    for (size_t i = steps_from(sweep->steps, own, start_ns); i < own->first + own->count; i++) {
        const struct step *step = &sweep->steps->list[i];
        int64_t from = start_ns > step->start_ns ? start_ns : step->start_ns,
                to = end_ns < step->end_ns ? end_ns : step->end_ns;
        if (step->start_ns >= end_ns)
            return;
        int64_t *sum = part == PARTS ? &sweep->parts[i].communication_ns : &sweep->parts[i].ns[part];
        *sum = from < to ? saturating_add(*sum, saturating_duration(from, to)) : *sum;
    }
}

static int step_breakdown_add_idle(void *context, const struct gap_piece *piece)
{
    step_breakdown_add_time(context, PART_IDLE + piece->cause, piece->start_ns, piece->end_ns);
    return 0;
}

/* The time from one work to the next, or to the end of the last step. */
static int step_breakdown_add_gap(struct step_sweep *sweep, int64_t start_ns, int64_t end_ns,
                                  const struct step_breakdown_work *next)
{
    int64_t process = sweep->steps->processes[sweep->process].process;
    const struct gap gap = { .start_ns = start_ns,
                             .end_ns = end_ns,
                             .table = next ? next->table : NULL,
                             .row = next ? next->row : 0,
                             .thread = global_process(process) | global_pid_number(process) };

    return start_ns < end_ns ? gap_causes_explain(&sweep->causes, &gap, step_breakdown_add_idle, sweep) : 0;
}

/* How far the work of each kind has come. */
struct step_breakdown_reach {
    int64_t until_ns; /* time before this is already added */
    int64_t end_ns[WORK_KINDS];
    int64_t communication_ns;
};

/* Adds the time up to the start of the next work: first the work that is still running, then the gap after it. */
static int step_breakdown_advance(struct step_sweep *sweep, struct step_breakdown_reach *reach, int64_t to_ns,
                                  const struct step_breakdown_work *next)
{
    for (int kind = 0; kind < WORK_KINDS; kind++) {
        int64_t end = reach->end_ns[kind] < to_ns ? reach->end_ns[kind] : to_ns;
        if (end <= reach->until_ns)
            continue;
        /* earlier kinds have ended: none of their work begins before to_ns */
        step_breakdown_add_time(sweep, kind, reach->until_ns, end);
        reach->until_ns = end;
    }
    int64_t start = reach->until_ns;
    reach->until_ns = to_ns > start ? to_ns : start;
    return step_breakdown_add_gap(sweep, start, to_ns, next);
}

static void add_communication(struct step_sweep *sweep, struct step_breakdown_reach *reach,
                              const struct step_breakdown_work *work)
{
    int64_t from = work->start_ns > reach->communication_ns ? work->start_ns : reach->communication_ns;

    if (work->kind != WORK_COMMUNICATION || from >= work->end_ns)
        return;
    step_breakdown_add_time(sweep, PARTS, from, work->end_ns);
    reach->communication_ns = work->end_ns;
}

/* The steps of one process; `at` is the first of its works in the order. */
static int sweep_process(struct step_sweep *sweep, size_t *at)
{
    const struct step_process *own = &sweep->steps->processes[sweep->process];
    const struct step *steps = sweep->steps->list + own->first;
    struct step_breakdown_reach reach = { .until_ns = steps[0].start_ns,
                                          .end_ns = { INT64_MIN, INT64_MIN, INT64_MIN },
                                          .communication_ns = INT64_MIN };

    for (; *at < sweep->count && sweep->works[sweep->order[*at]].process == own->first; ++*at) {
        const struct step_breakdown_work *work = &sweep->works[sweep->order[*at]];
        if (work->start_ns > reach.until_ns && step_breakdown_advance(sweep, &reach, work->start_ns, work) != 0)
            return ERR_NO_MEMORY;
        if (work->end_ns > reach.end_ns[work->kind])
            reach.end_ns[work->kind] = work->end_ns;
        add_communication(sweep, &reach, work);
    }
    int64_t end = steps[own->count - 1].end_ns;
    return end > reach.until_ns ? step_breakdown_advance(sweep, &reach, end, NULL) : 0;
}

static int step_breakdown_sweep_all(struct step_sweep *sweep)
{
    size_t at = 0;

    sweep->parts = calloc(sweep->steps->count + 1, sizeof *sweep->parts);
    if (!sweep->parts || order_works(sweep) != 0)
        return ERR_NO_MEMORY;
    for (size_t first = 0; first < sweep->steps->count; first += sweep->steps->processes[sweep->process].count) {
        const struct step_process *own = steps_of(sweep->steps, sweep->steps->list[first].process);
        sweep->process = (size_t)(own - sweep->steps->processes);
        if (sweep_process(sweep, &at) != 0)
            return ERR_NO_MEMORY;
    }
    return 0;
}

static int sweep_read(struct step_sweep *sweep, const struct analysis_request *request,
                      const struct replay_events *events, struct places *places, struct error *err)
{
    const struct steps_request automatic = { .may_guess = 1 };
    int code;

    sweep->steps = request->filter && request->filter->steps ? request->filter->steps : &sweep->found;
    if (sweep->steps == &sweep->found && (code = steps_read(&sweep->found, sweep->report, &automatic, err)) != 0)
        return code;
    if ((code = step_breakdown_read_works(sweep, err)) != 0 ||
        (code = gap_causes_open(&sweep->causes, sweep->report, events, places, err)) != 0)
        return code;
    return step_breakdown_sweep_all(sweep) == 0 ? 0 : error_short_memory(err, "for the steps");
}

/* ---- the table ------------------------------------------------------------------------------------------------- */

enum { CELL_STEP, CELL_TIME, CELL_FIRST, CELL_COMMUNICATION = CELL_FIRST + PARTS, CELL_START, CELL_PID, CELLS };
static const char *const part_names[PARTS] = {
    [WORK_COMPUTE] = "Compute",
    [WORK_COMMUNICATION] = "Exposed Communication",
    [WORK_COPY] = "Exposed Copies",
    [PART_IDLE + GAP_LAUNCH] = "Launch",
    [PART_IDLE + GAP_PYTHON] = "Python",
    [PART_IDLE + GAP_NATIVE] = "CPU Code",
    [PART_IDLE + GAP_WAIT] = "Waits",
    [PART_IDLE + GAP_LOADING] = "Data Loading",
    [PART_IDLE + GAP_COPY] = "Copy Calls",
    [PART_IDLE + GAP_ALLOCATION] = "Allocation",
    [PART_IDLE + GAP_CODE] = "Code Loading",
    [PART_IDLE + GAP_GC] = "Garbage Collection",
    [PART_IDLE + GAP_COMPILE] = "Compilation",
    [PART_IDLE + GAP_GIL] = "GIL",
    [PART_IDLE + GAP_BLOCKED] = "Blocked",
    [PART_IDLE + GAP_PREEMPTED] = "Preempted",
    [PART_IDLE + GAP_LATENCY] = "Launch Latency",
    [PART_IDLE + GAP_PROFILER] = "Profiler",
    [PART_IDLE + GAP_UNKNOWN] = "Unknown",
};

static int step_breakdown_is_shown(const struct step *step, const struct analysis_request *request)
{
    return step->is_chosen && span_overlaps(request->span, step->start_ns, step->end_ns) &&
           (!request->filter || !(request->filter->only & ONLY_PID) ||
            global_pid_number(step->process) == request->filter->pid);
}

static int step_breakdown_add_step(struct table *table, const struct step_sweep *sweep, size_t at)
{
    const struct step *step = &sweep->steps->list[at];
    struct table_cell *row = table_add_row(table);

    if (!row)
        return ERR_NO_MEMORY;
    cell_set_int(&row[CELL_STEP], step->number);
    cell_set_int(&row[CELL_TIME], saturating_duration(step->start_ns, step->end_ns));
    for (int part = 0; part < PARTS; part++)
        cell_set_int(&row[CELL_FIRST + part], sweep->parts[at].ns[part]);
    cell_set_int(&row[CELL_COMMUNICATION], sweep->parts[at].communication_ns);
    cell_set_int(&row[CELL_START], step->start_ns);
    cell_set_int(&row[CELL_PID], global_pid_number(step->process));
    return 0;
}

static struct table *step_breakdown_new_table(void)
{
    struct table_column columns[CELLS] = {
        [CELL_STEP] = { "Step", CELL_INT, UNIT_ID, 0 },
        [CELL_TIME] = { "Time", CELL_INT, UNIT_NS, 0 },
        [CELL_COMMUNICATION] = { "Communication", CELL_INT, UNIT_NS, 0 },
        [CELL_START] = { "Start", CELL_INT, UNIT_TIME, 0 },
        [CELL_PID] = { "PID", CELL_INT, UNIT_ID, 0 },
    };

    for (int part = 0; part < PARTS; part++)
        columns[CELL_FIRST + part] = (struct table_column){ part_names[part], CELL_INT, UNIT_NS, 0 };
    return table_new(columns, CELLS);
}

int step_breakdown_of(struct report *report, const struct analysis_request *request, const struct replay_events *events,
                      struct places *places, struct table **out, struct error *err)
{
    struct step_sweep sweep = { .report = report };
    struct table *table = step_breakdown_new_table();
    int code = table ? sweep_read(&sweep, request, events, places, err) : ERR_NO_MEMORY;

    if (code != 0)
        goto done;
    for (size_t i = 0; i < sweep.steps->count; i++)
        if (step_breakdown_is_shown(&sweep.steps->list[i], request) &&
            (code = step_breakdown_add_step(table, &sweep, i)) != 0)
            goto done;
done:
    gap_causes_close(&sweep.causes);
    steps_free(&sweep.found);
    free(sweep.works);
    free(sweep.order);
    free(sweep.parts);
    return table_hand_over(table, code, out, err);
}

static int step_breakdown(struct report *report, const struct analysis_request *request, struct table **out,
                          struct error *err)
{
    return step_breakdown_of(report, request, NULL, NULL, out, err);
}

const struct analysis analysis_step_breakdown = {
    .name = "step_breakdown",
    .title = "Step Breakdown",
    .help = "The time of each step, split into parts that add up to it. Compute: a kernel runs on a GPU of the "
            "process; Exposed Communication: only kernels of NCCL or NVSHMEM; Exposed Copies: only copies and fills. "
            "The other parts are idle time of the GPUs by its cause, as in gpu_idle_sum. Communication, which is no "
            "part, is all time in which a kernel of NCCL or NVSHMEM ran.",
    .needs = { { "steps", steps_tables }, { "GPU trace data", gpu_busy_tables } },
    .is_of_gpus = 1,
    .run = step_breakdown,
};
