/* run_sum: how long the run took, in wall time, CPU time and busy time of GPUs. See run_sum.h. */
#include "run_sum.h"

#include <string.h>

#include "analyze/engine/cell_text.h"
#include "analyze/engine/row_cursor.h"
#include "analyze/model/gpu_busy.h"
#include "analyze/registry.h"
#include "base/saturating.h"

/* ---- the whole run --------------------------------------------------------------------------------------------- */

enum { START, END, PID, IMAGE, EXE, ORIGIN };

static const char *text_of(struct report *report, const struct row_cursor *rows, size_t column)
{
    return row_is_null(rows, column) ? "" : report_string(report, row_int(rows, column), NULL);
}

/* The process that was launched or attached to; without one, the first. Returns when its first image began. */
static int64_t find_program(struct row_cursor *rows, struct report *report, int64_t *pid)
{
    int64_t begun_ns = 0;

    while (row_cursor_next(rows)) {
        const char *origin = text_of(report, rows, ORIGIN);
        if (rows->row != 0 && strcmp(origin, "launch") != 0 && strcmp(origin, "attach") != 0)
            continue;
        *pid = row_int_or(rows, PID, 0);
        begun_ns = row_int_or(rows, START, 0);
    }
    rows->next = 0;
    return begun_ns;
}

/* After exec, the last image of the process counts. The last row about an image is valid. */
static void take_program(struct run_times *times, struct row_cursor *rows, struct report *report)
{
    int64_t pid = -1, image = INT64_MIN, begun_ns = find_program(rows, report, &pid);

    while (row_cursor_next(rows)) {
        if (row_int_or(rows, PID, 0) != pid || row_int_or(rows, IMAGE, 0) < image)
            continue;
        image = row_int_or(rows, IMAGE, 0);
        times->program_row = rows->row;
        times->program = text_of(report, rows, EXE);
        times->wall_ns = row_is_null(rows, END) ? -1 : saturating_duration(begun_ns, row_int(rows, END));
    }
}

static int read_program(struct run_times *times, struct report *report, struct error *err)
{
    static const char *const names[] = { "start", "end", "globalPid", "image", "exe", "origin", NULL };
    struct row_cursor rows;
    int code = row_cursor_open(&rows, report, "TACHO_PROCESS", names, err);

    if (code != 0)
        return code;
    take_program(times, &rows, report);
    row_cursor_close(&rows);
    return 0;
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
    if (row_cursor_next(&rows))
        duration = row_int_or(&rows, 0, duration);
    row_cursor_close(&rows);
    if ((code = row_cursor_open(&rows, report, "TACHO_RANGE", range_names, err)) != 0)
        return code;
    int has_ranges = rows.columns.rows != 0;
    while (row_cursor_next(&rows))
        times->captured_ns = saturating_add(times->captured_ns, saturating_duration(row_int_or(&rows, 0, 0),
                                                                                    row_int_or(&rows, 1, span.to_ns)));
    row_cursor_close(&rows);
    if (!has_ranges)
        times->captured_ns = duration;
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

static int add_time(struct table *table, const char *name, int64_t time_ns)
{
    struct table_cell *row = time_ns > 0 ? table_add_row(table) : NULL;

    if (time_ns <= 0)
        return 0;
    if (!row)
        return ERR_NO_MEMORY;
    cell_set_int(&row[0], time_ns);
    return cell_set_string(table, &row[1], name);
}

/* The times of the CPU. Of a part of the run only its length is known, and of some processes or steps nothing. */
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
        return add_time(table, RUN_SUM_WALL, from_ns < to_ns ? saturating_duration(from_ns, to_ns) : 0);
    }
    code = add_time(table, RUN_SUM_WALL, times.wall_ns);
    return code != 0 ? code : add_time(table, RUN_SUM_CPU, times.cpu_ns);
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
    return add_time(table, RUN_SUM_GPU, busy_ns);
}

static int run_sum(struct report *report, const struct analysis_request *request, struct table **out, struct error *err)
{
    static const struct table_column columns[] = {
        { "Time", CELL_INT, UNIT_NS, 0 },
        { "Name", CELL_TEXT, UNIT_NAME, 0 },
    };
    struct table *table = table_new(columns, sizeof columns / sizeof columns[0]);
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
    .usage = "",
    .help = "The wall time of the run from the start of the program to its end, the CPU time of all its processes, and "
            "the time in which GPUs had work (the sum over all GPUs; overlapping work counts once). With "
            "--filter-time or --filter-nvtx, the wall time and the GPU time of that part. Imports have no CPU time.",
    .overlap = "these times overlap",
    .run = run_sum,
};
