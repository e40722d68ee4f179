/* run_sum: how long the run took, in wall time, CPU time and busy time of GPUs. See run_sum.h. */
#include "run_sum.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/engine/cell_text.h"
#include "analyze/engine/row_cursor.h"
#include "analyze/model/gpu_busy.h"
#include "analyze/registry.h"
#include "base/array.h"
#include "base/saturating.h"

/* ---- the whole run --------------------------------------------------------------------------------------------- */

enum { START, END, PID, IMAGE, EXE, ORIGIN, STATUS, SIGNAL };

static const char *run_sum_text_of(struct report *report, const struct row_cursor *rows, size_t column)
{
    return row_is_null(rows, column) ? "" : report_string(report, row_int(rows, column), NULL);
}

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

    return x->pid < y->pid ? -1 : x->pid > y->pid;
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
        const char *origin = run_sum_text_of(report, rows, ORIGIN);
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
    times->program = run_sum_text_of(report, rows, EXE);
    times->wall_ns = is_over ? saturating_duration(begun_ns, end_ns) : -1;
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

static int run_sum_by_start(const void *a, const void *b)
{
    const struct report_span *x = a, *y = b;

    return x->from_ns < y->from_ns ? -1 : x->from_ns > y->from_ns;
}

/* The time in which any of the ranges was on: those of a set's reports overlap. -1: out of memory. */
static int64_t covered_time(struct row_cursor *rows, int64_t end_ns)
{
    size_t count = 0;
    int64_t covered = 0, until = INT64_MIN;
    struct report_span *spans = array_alloc(rows->columns.rows + 1, sizeof *spans);

    if (!spans)
        return -1;
    while (row_cursor_next(rows))
        spans[count++] = (struct report_span){ row_int_or(rows, 0, 0), row_int_or(rows, 1, end_ns) };
    qsort(spans, count, sizeof *spans, run_sum_by_start);
    for (size_t i = 0; i < count; i++) {
        int64_t from = spans[i].from_ns > until ? spans[i].from_ns : until;
        if (spans[i].to_ns > from)
            covered = saturating_add(covered, saturating_duration(from, spans[i].to_ns));
        until = spans[i].to_ns > until ? spans[i].to_ns : until;
    }
    free(spans);
    return covered;
}

/* Recording was on in ranges, the last of which may have no end; in an import, all the time. A report that was not
 * closed has neither, but events. */
static int read_captured(struct run_times *times, struct report *report, struct error *err)
{
    static const char *const range_names[] = { "start", "end", NULL }, *const detail_names[] = { "duration", NULL };
    struct report_span span = report_times(report);
    struct row_cursor rows;
    int64_t duration = span.from_ns < span.to_ns ? saturating_duration(span.from_ns, span.to_ns) : 0;
    int code = row_cursor_open(&rows, report, "ANALYSIS_DETAILS", detail_names, err);

    if (code != 0)
        return code;
    if (rows.columns.rows == 1 && row_cursor_next(&rows)) /* for a set, from the first event to the last */
        duration = row_int_or(&rows, 0, duration);
    row_cursor_close(&rows);
    if ((code = row_cursor_open(&rows, report, "TACHO_RANGE", range_names, err)) != 0)
        return code;
    int has_ranges = rows.columns.rows != 0;
    times->captured_ns = has_ranges ? covered_time(&rows, span.to_ns) : duration;
    row_cursor_close(&rows);
    if (times->captured_ns < 0)
        return error_no_memory(err);
    if (times->wall_ns < 0)
        times->wall_ns = duration;
    return 0;
}

int run_times_read(struct run_times *times, struct report *report, struct error *err)
{
    int code;

    *times = (struct run_times){ .wall_ns = -1, .cpu_ns = -1, .program_row = SIZE_MAX, .program = "" };
    if ((code = read_program(times, report, err)) != 0 || (code = read_cpu_time(times, report, err)) != 0)
        return code;
    return read_captured(times, report, err);
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

/* The times of the CPU. For a part of the run only its length is known; for some processes or steps, nothing. */
static int add_cpu_times(struct table *table, struct report *report, const struct analysis_request *request,
                         struct error *err)
{
    struct report_span all = report_times(report);
    struct run_times times;
    int code = run_times_read(&times, report, err);

    if (code != 0 || (request->filter && request->filter->only))
        return code;
    if (request->span) {
        int64_t from_ns = request->span->from_ns > all.from_ns ? request->span->from_ns : all.from_ns;
        int64_t to_ns = request->span->to_ns < all.to_ns ? request->span->to_ns : all.to_ns;
        return run_sum_add_time(table, RUN_SUM_WALL, from_ns < to_ns ? saturating_duration(from_ns, to_ns) : 0);
    }
    code = run_sum_add_time(table, RUN_SUM_WALL, times.wall_ns);
    return code != 0 ? code : run_sum_add_time(table, RUN_SUM_CPU, times.cpu_ns);
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

    if (!table || (code = add_cpu_times(table, report, request, err)) != 0)
        goto done;
    code = add_gpu_time(table, report, request, err);
done:
    return table_hand_over(table, code, out, err);
}

const struct analysis analysis_run_sum = {
    .name = "run_sum",
    .title = "Run Summary",
    .help = "The wall time of the run from the start of the program to its end, the CPU time of all its processes, and "
            "the time in which GPUs had work (the sum over all GPUs; overlapping work counts once). With "
            "--filter-time or --filter-nvtx, the wall time and the GPU time of that part. Imports have no CPU time.",
    .overlap = "these times overlap",
    .run = run_sum,
};
