/* run_sum: how long the run took: process time, recorded time, CPU time and busy time of GPUs. See run_sum.h. */
#include "run_sum.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/engine/cell_text.h"
#include "analyze/engine/row_cursor.h"
#include "analyze/model/gpu_busy.h"
#include "analyze/model/recorded.h"
#include "analyze/registry.h"
#include "base/array.h"
#include "base/saturating.h"

/* ---- the whole run --------------------------------------------------------------------------------------------- */

enum { START, END, PID, IMAGE, EXE, ORIGIN, STATUS, SIGNAL };

/* A process that was launched or attached to. A set has one for each report. */
struct run_sum_program {
    int64_t pid, begun_ns, image, end_ns; /* end_ns INT64_MIN: it has not ended */
    size_t row;                           /* the last row about its last image */
    int has_failed;
};
struct programs {
    struct run_sum_program *list; /* owned; by pid */
    size_t count, room;
};

static int by_pid(const void *a, const void *b)
{
    const struct run_sum_program *x = a, *y = b;

    return COMPARE(x->pid, y->pid);
}

static int run_sum_add_program(struct programs *programs, const struct row_cursor *rows)
{
    return ARRAY_PUSH(programs->list, programs->room, programs->count,
                      (struct run_sum_program){ .pid = row_int_or(rows, PID, 0),
                                                .begun_ns = row_int_or(rows, START, 0),
                                                .image = INT64_MIN,
                                                .end_ns = INT64_MIN });
}

/* Finds each launched process once, or the first process if none was launched. */
static int run_sum_find_programs(struct programs *programs, struct row_cursor *rows, struct report *report)
{
    size_t kept = 0;

    while (row_cursor_next(rows)) {
        const char *origin = row_string(rows, report, ORIGIN);
        int is_launched = strcmp(origin, "launch") == 0 || strcmp(origin, "attach") == 0;
        if (is_launched && run_sum_add_program(programs, rows) != 0)
            return ERR_NO_MEMORY;
    }
    rows->next = 0;
    if (!programs->count && row_cursor_next(rows) && run_sum_add_program(programs, rows) != 0)
        return ERR_NO_MEMORY;
    rows->next = 0;
    if (programs->count)
        qsort(programs->list, programs->count, sizeof *programs->list, by_pid);
    for (size_t i = 0; i < programs->count; i++)
        if (!kept || programs->list[i].pid != programs->list[kept - 1].pid)
            programs->list[kept++] = programs->list[i];
    programs->count = kept;
    return 0;
}

/* After exec, the last image of a process counts. The last row about an image is valid. */
static void run_sum_take_rows(struct programs *programs, struct row_cursor *rows)
{
    while (row_cursor_next(rows)) {
        const struct run_sum_program key = { .pid = row_int_or(rows, PID, 0) };
        struct run_sum_program *at = programs->count
                                         ? bsearch(&key, programs->list, programs->count, sizeof key, by_pid)
                                         : NULL;
        if (!at || row_int_or(rows, IMAGE, 0) < at->image)
            continue;
        at->image = row_int_or(rows, IMAGE, 0);
        at->row = rows->row;
        at->end_ns = row_int_or(rows, END, INT64_MIN);
        at->has_failed = row_int_or(rows, STATUS, 0) != 0 || row_int_or(rows, SIGNAL, 0) != 0;
    }
}

/* From the first begin to the last end. If a rank failed, its row says how the job ended. */
static void take_programs(struct run_times *times, const struct programs *programs, struct row_cursor *rows,
                          struct report *report)
{
    const struct run_sum_program *told = programs->list;
    int64_t begun_ns = INT64_MAX, end_ns = INT64_MIN;
    int is_over = 1;

    if (!programs->count)
        return;
    for (size_t i = 0; i < programs->count; i++) {
        const struct run_sum_program *at = &programs->list[i];
        begun_ns = at->begun_ns < begun_ns ? at->begun_ns : begun_ns;
        end_ns = at->end_ns > end_ns ? at->end_ns : end_ns;
        is_over &= at->end_ns != INT64_MIN;
        told = at->has_failed && !told->has_failed ? at : told;
    }
    rows->row = told->row;
    times->program_row = told->row;
    times->program = row_string(rows, report, EXE);
    times->process_ns = is_over ? saturating_duration(begun_ns, end_ns) : -1;
}

static int read_program(struct run_times *times, struct report *report, struct error *err)
{
    static const char *const names[] = { "start",  "end",        "globalPid", "image", "exe",
                                         "origin", "exitStatus", "signal",    NULL };
    struct programs programs = { 0 };
    struct row_cursor rows;
    int code = row_cursor_open(&rows, report, "TACHO_PROCESS", names, err);

    if (code != 0)
        return code;
    if (run_sum_find_programs(&programs, &rows, report) != 0 && (code = error_no_memory(err)) != 0)
        goto close_rows;
    run_sum_take_rows(&programs, &rows);
    take_programs(times, &programs, &rows, report);
close_rows:
    free(programs.list);
    row_cursor_close(&rows);
    return code;
}

static int read_cpu_time(struct run_times *times, struct report *report, struct error *err)
{
    static const char *const names[] = { "cpuNs", NULL };
    struct row_cursor rows;
    int code = row_cursor_open(&rows, report, "TACHO_CAPTURE", names, err);

    if (code != 0)
        return code;
    while (row_cursor_next(&rows))
        times->cpu_ns = saturating_add(times->cpu_ns < 0 ? 0 : times->cpu_ns, row_int_or(&rows, 0, 0));
    row_cursor_close(&rows);
    return 0;
}

/* From the start of the capture to its end, as it says; else from its first event to its last. For a set, from the
 * first event to the last. */
static int read_capture_time(struct run_times *times, struct report *report, struct error *err)
{
    static const char *const names[] = { "duration", NULL };
    struct report_span span = report_times(report);
    struct row_cursor rows;
    int code = row_cursor_open(&rows, report, "ANALYSIS_DETAILS", names, err);

    if (code != 0)
        return code;
    times->capture_ns = span.from_ns < span.to_ns ? saturating_duration(span.from_ns, span.to_ns) : 0;
    if (rows.columns.rows == 1 && row_cursor_next(&rows))
        times->capture_ns = row_int_or(&rows, 0, times->capture_ns);
    row_cursor_close(&rows);
    return 0;
}

/* Recording was on in spans; in an import, and in a report that was not closed, all the time. */
static int read_recorded(struct run_times *times, struct report *report, struct error *err)
{
    struct recorded recorded;
    int code = recorded_read(&recorded, report, err);

    if (code != 0)
        return code;
    times->recorded_ns = recorded.count ? recorded_time(&recorded) : times->capture_ns;
    times->is_part = recorded.is_part;
    times->range_count = recorded.count;
    recorded_free(&recorded);
    return 0;
}

int run_times_read(struct run_times *times, struct report *report, struct error *err)
{
    int code;

    *times = (struct run_times){ .process_ns = -1, .cpu_ns = -1, .program_row = SIZE_MAX, .program = "" };
    if ((code = read_program(times, report, err)) != 0 || (code = read_cpu_time(times, report, err)) != 0 ||
        (code = read_capture_time(times, report, err)) != 0)
        return code;
    return read_recorded(times, report, err);
}

/* ---- the table ------------------------------------------------------------------------------------------------- */

static int run_sum_add_time(struct table *table, const char *name, int64_t time_ns)
{
    struct table_cell *row = time_ns > 0 ? table_add_row(table) : NULL;

    if (time_ns <= 0)
        return 0;
    if (!row)
        return ERR_NO_MEMORY;
    cell_set_int(&row[0], time_ns);
    return cell_set_string(table, &row[1], name);
}

/* The recorded part of a span. */
static int add_recorded_part(struct table *table, struct report *report, const struct report_span *span,
                             struct error *err)
{
    struct report_span all = report_times(report);
    int64_t from_ns = span->from_ns > all.from_ns ? span->from_ns : all.from_ns;
    int64_t to_ns = span->to_ns < all.to_ns ? span->to_ns : all.to_ns;
    struct recorded recorded;
    int code = recorded_read(&recorded, report, err);

    if (code != 0)
        return code;
    code = run_sum_add_time(table, RUN_SUM_RECORDED, recorded_within(&recorded, from_ns, to_ns));
    recorded_free(&recorded);
    return code;
}

/* The times of the processes. Of a part of the run only the recorded time is known; of some processes or steps,
 * nothing. */
static int add_process_times(struct table *table, struct report *report, const struct analysis_request *request,
                             struct error *err)
{
    struct run_times times;
    int code = run_times_read(&times, report, err);

    if (code != 0 || (request->filter && request->filter->only))
        return code;
    if (request->span)
        return add_recorded_part(table, report, request->span, err);
    if ((code = run_sum_add_time(table, RUN_SUM_PROCESS, times.process_ns)) != 0 ||
        (code = run_sum_add_time(table, RUN_SUM_RECORDED, times.recorded_ns)) != 0)
        return code;
    return run_sum_add_time(table, RUN_SUM_CPU, times.cpu_ns);
}

static int add_gpu_time(struct table *table, struct report *report, const struct analysis_request *request,
                        struct error *err)
{
    struct gpu_busy busy = { 0 };
    int64_t busy_ns = 0;
    int code = gpu_busy_read(&busy, report, request, 0, err);

    if (code != 0)
        return code;
    for (size_t i = 0; i < busy.device_count; i++)
        busy_ns = saturating_add(busy_ns, busy.devices[i].busy_ns);
    gpu_busy_free(&busy);
    return run_sum_add_time(table, RUN_SUM_GPU, busy_ns);
}

static int run_sum(struct report *report, const struct analysis_request *request, struct table **out, struct error *err)
{
    static const struct table_column columns[] = {
        { "Time", CELL_INT, UNIT_NS, 0 },
        { "Name", CELL_TEXT, UNIT_NAME, 0 },
    };
    struct table *table = table_new(columns, COUNT_OF(columns));
    int code = ERR_NO_MEMORY;

    if (!table || (code = add_process_times(table, report, request, err)) != 0)
        goto done;
    code = add_gpu_time(table, report, request, err);
done:
    return table_hand_over(table, code, out, err);
}

const struct analysis analysis_run_sum = {
    .name = "run_sum",
    .title = "Run Summary",
    .help =
        "Process time is from the start of the program to its end, recorded time how long recording was on: less in "
        "a capture with a range. CPU time is that of all processes over the whole process time. GPU busy time is "
        "the part of the recorded time in which GPUs had work (the sum over all GPUs; overlapping work counts "
        "once). With --filter-time or --filter-nvtx, the recorded time and the GPU busy time of that part. Imports "
        "have no process time and no CPU time.",
    .overlap = "these times overlap",
    .run = run_sum,
};
