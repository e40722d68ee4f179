/* process_sum: what the programs of a process tree used, by command or by process. */
#include <stdlib.h>
#include <string.h>

#include "analyze/engine/cell_text.h"
#include "analyze/engine/event_columns.h"
#include "analyze/engine/keys.h"
#include "analyze/engine/report_options.h"
#include "analyze/model/filter.h"
#include "analyze/model/os_calls.h"
#include "analyze/model/programs.h"
#include "analyze/model/short_calls.h"
#include "analyze/model/wall/wall_path.h"
#include "analyze/registry.h"
#include "base/array.h"
#include "base/intern.h"
#include "base/saturating.h"
#include "report/reader/unite.h"

struct process_sum_use {
    int64_t path_ns, cpu_ns, wall_ns, read_bytes, written_bytes, count;
    int has_cpu, has_bytes;
};

struct process_sum_totals {
    struct report *report;
    struct programs programs;
    struct filter filter;
    struct process_sum_use *uses;   /* owned; by program */
    struct process_sum_use *groups; /* owned; by name */
    struct intern names;            /* of commands */
    size_t group_room;
    int64_t whole_ns;               /* the length of the critical path; 0: it is not known */
    int workers;
};

/* ---- the critical path ----------------------------------------------------------------------------------------- */

/* A set of reports has none. */
static int process_sum_read_path(struct process_sum_totals *totals, struct error *err)
{
    struct wall_path path = { 0 };
    int code = wall_path_read(&path, totals->report, &totals->filter, err);

    if (code != 0)
        goto free_path;
    for (size_t i = 0; i < path.count; i++) {
        const struct wall_piece *piece = &path.list[i];
        int64_t time_ns = saturating_duration(piece->from_ns, piece->to_ns);
        size_t at = programs_at(&totals->programs, global_process(piece->thread), piece->from_ns);
        totals->whole_ns = saturating_add(totals->whole_ns, time_ns);
        if (at != NO_PROGRAM)
            totals->uses[at].path_ns = saturating_add(totals->uses[at].path_ns, time_ns);
    }
free_path:
    wall_path_free(&path);
    return code == ERR_NO_DATA ? 0 : code;
}

/* ---- bytes ------------------------------------------------------------------------------------------------------ */

enum { KNOWN_NAMES = 64 };
struct process_sum_worker {
    struct process_sum_use *uses; /* owned; by program */
    struct {
        uint64_t name;            /* + 1; 0: none */
        enum os_call_bytes bytes;
    } known[KNOWN_NAMES];
};
struct process_sum_scan {
    struct process_sum_totals *totals;
    struct process_sum_worker *workers; /* owned */
};

static void process_sum_add_bytes(struct process_sum_use *use, enum os_call_bytes direction, int64_t bytes)
{
    use->has_bytes = 1;
    if (direction & OS_CALL_READS)
        use->read_bytes = saturating_add(use->read_bytes, bytes);
    if (direction & OS_CALL_WRITES)
        use->written_bytes = saturating_add(use->written_bytes, bytes);
}

static enum os_call_bytes process_sum_direction(struct report *report, int64_t name)
{
    size_t length;
    const char *bytes = report_string(report, name, &length);

    return os_call_bytes(bytes, length);
}

static enum os_call_bytes process_sum_known_direction(struct report *report, struct process_sum_worker *worker,
                                                      int64_t name)
{
    size_t place = (uint64_t)name % KNOWN_NAMES;

    if (worker->known[place].name != (uint64_t)name + 1) {
        worker->known[place].name = (uint64_t)name + 1;
        worker->known[place].bytes = process_sum_direction(report, name);
    }
    return worker->known[place].bytes;
}

enum { START, THREAD, NAME, RESULT };

static int process_sum_visit(void *context, int number, const struct report_block *block)
{
    struct process_sum_scan *scan = context;
    struct process_sum_worker *worker = &scan->workers[number];
    const struct programs *programs = &scan->totals->programs;

    for (size_t row = 0; row < block->rows; row++) {
        int64_t process = block_is_null(block, THREAD, row) ? 0 : global_process(block->values[THREAD][row]);
        size_t at = programs_at(programs, process, block->values[START][row]);
        int64_t bytes = block_is_null(block, RESULT, row) ? 0 : block->values[RESULT][row];
        if (at != NO_PROGRAM)
            process_sum_add_bytes(&worker->uses[at],
                                  process_sum_known_direction(scan->totals->report, worker, block->values[NAME][row]),
                                  bytes > 0 ? bytes : 0);
    }
    return 0;
}

static void process_sum_join_workers(struct process_sum_totals *totals, const struct process_sum_scan *scan)
{
    for (int w = 0; w < totals->workers; w++)
        for (size_t i = 0; i < totals->programs.count; i++) {
            const struct process_sum_use *use = &scan->workers[w].uses[i];
            totals->uses[i].has_bytes |= use->has_bytes;
            totals->uses[i].read_bytes = saturating_add(totals->uses[i].read_bytes, use->read_bytes);
            totals->uses[i].written_bytes = saturating_add(totals->uses[i].written_bytes, use->written_bytes);
        }
}

static int process_sum_scan_calls(struct process_sum_totals *totals, struct process_sum_scan *scan, struct error *err)
{
    const struct report_table *table = report_table(totals->report, "OSRT_API");

    if (!table || !table->rows)
        return 0;
    const int columns[] = { [START] = report_column(table, "start"),
                            [THREAD] = report_column(table, "globalTid"),
                            [NAME] = report_column(table, "nameId"),
                            [RESULT] = report_column(table, "returnValue") };
    for (int w = 0; w < totals->workers; w++)
        if (!(scan->workers[w].uses = calloc(totals->programs.count + 1, sizeof *totals->uses)))
            return error_short_memory(err, "for the bytes");
    int code = report_scan(totals->report, table, columns, COUNT_OF(columns), NULL, process_sum_visit, scan, err);
    if (code != 0)
        return code;
    process_sum_join_workers(totals, scan);
    return 0;
}

static int process_sum_read_calls(struct process_sum_totals *totals, struct error *err)
{
    struct process_sum_scan scan = { .totals = totals };
    int code;

    totals->workers = report_workers(totals->report);
    if (!(scan.workers = calloc((size_t)totals->workers, sizeof *scan.workers)))
        return error_short_memory(err, "for the bytes");
    code = process_sum_scan_calls(totals, &scan, err);
    for (int w = 0; w < totals->workers; w++)
        free(scan.workers[w].uses);
    free(scan.workers);
    return code;
}

static int process_sum_read_shorts(struct process_sum_totals *totals, struct error *err)
{
    struct short_calls calls = { 0 };
    int code = short_calls_read(&calls, totals->report, err);

    if (code != 0)
        return code;
    for (size_t i = 0; i < calls.count; i++) {
        size_t at = programs_of_image(&totals->programs, calls.list[i].process, calls.list[i].image);
        if (at != NO_PROGRAM)
            process_sum_add_bytes(&totals->uses[at], process_sum_direction(totals->report, calls.list[i].name),
                                  calls.list[i].bytes);
    }
    short_calls_free(&calls);
    return 0;
}

/* ---- programs -------------------------------------------------------------------------------------------------- */

/* What a forked child did before it called exec counts for the program that it became. */
static void process_sum_take_lives(struct process_sum_totals *totals)
{
    for (size_t i = 0; i < totals->programs.count; i++) {
        const struct program *program = &totals->programs.list[i];
        struct process_sum_use
            *use = &totals->uses[programs_of_image(&totals->programs, program->process, program->image)];
        use->count = 1;
        use->wall_ns = saturating_add(use->wall_ns, saturating_duration(program->start_ns, program->end_ns));
        if (program->cpu_ns >= 0) {
            use->cpu_ns = saturating_add(use->cpu_ns, program->cpu_ns);
            use->has_cpu = 1;
        }
    }
}

static int process_sum_is_chosen(const struct process_sum_totals *totals, size_t at)
{
    const struct program *program = &totals->programs.list[at];
    size_t own = programs_of_image(&totals->programs, program->process, program->image);

    return own == at && filter_process(&totals->filter, program->process, program->start_ns, program->end_ns);
}

static void process_sum_join(struct process_sum_use *to, const struct process_sum_use *more)
{
    to->path_ns = saturating_add(to->path_ns, more->path_ns);
    to->cpu_ns = saturating_add(to->cpu_ns, more->cpu_ns);
    to->wall_ns = saturating_add(to->wall_ns, more->wall_ns);
    to->read_bytes = saturating_add(to->read_bytes, more->read_bytes);
    to->written_bytes = saturating_add(to->written_bytes, more->written_bytes);
    to->count += more->count;
    to->has_cpu |= more->has_cpu;
    to->has_bytes |= more->has_bytes;
}

static int process_sum_add_to_group(struct process_sum_totals *totals, size_t at, struct text *name)
{
    text_clear(name);
    program_name(name, &totals->programs.list[at], totals->report);
    int64_t group = text_failed(name) ? -1 : intern_add(&totals->names, text_string(name), name->length);
    if (group < 0 ||
        array_reserve_zeroed(&totals->groups, &totals->group_room, (size_t)group + 1, sizeof *totals->groups) != 0)
        return ERR_NO_MEMORY;
    process_sum_join(&totals->groups[group], &totals->uses[at]);
    return 0;
}

static int process_sum_group(struct process_sum_totals *totals)
{
    struct text name = { 0 };
    int code = 0;

    for (size_t i = 0; i < totals->programs.count; i++)
        if (process_sum_is_chosen(totals, i) && (code = process_sum_add_to_group(totals, i, &name)) != 0)
            goto free_name;
free_name:
    text_free(&name);
    return code;
}

/* ---- the table ------------------------------------------------------------------------------------------------- */

/* What both tables begin with. */
enum { CELL_SHARE, CELL_PATH, CELL_CPU, CELL_WALL, CELL_READ, CELL_WRITTEN, CELL_FIRST_OWN };
#define PROCESS_SUM_COLUMNS                                                                                            \
    { "Critical Path", CELL_REAL, UNIT_PERCENT, 1 }, { "Path Time", CELL_INT, UNIT_NS, 0 }, \
        { "CPU Time", CELL_INT, UNIT_NS, 0 }, { "Wall Time", CELL_INT, UNIT_NS, 0 },                                   \
        { "Read", CELL_INT, UNIT_BYTES, 0 }, { "Written", CELL_INT, UNIT_BYTES, 0 }

static void process_sum_set(struct table_cell *row, const struct process_sum_totals *totals,
                            const struct process_sum_use *use)
{
    if (totals->whole_ns > 0) {
        cell_set_real(&row[CELL_SHARE], 100.0 * (double)use->path_ns / (double)totals->whole_ns);
        cell_set_int(&row[CELL_PATH], use->path_ns);
    }
    if (use->has_cpu)
        cell_set_int(&row[CELL_CPU], use->cpu_ns);
    cell_set_int(&row[CELL_WALL], use->wall_ns);
    if (use->has_bytes) {
        cell_set_int(&row[CELL_READ], use->read_bytes);
        cell_set_int(&row[CELL_WRITTEN], use->written_bytes);
    }
}

static int process_sum_by_command(struct process_sum_totals *totals, struct table **out)
{
    enum { CELL_COUNT = CELL_FIRST_OWN, CELL_NAME, CELLS };
    static const struct table_column columns[CELLS] = {
        PROCESS_SUM_COLUMNS,
        { "Processes", CELL_INT, UNIT_NONE, 0 },
        { "Command", CELL_TEXT, UNIT_NAME, 0 },
    };
    struct table *table = *out = table_new(columns, CELLS);

    if (!table || process_sum_group(totals) != 0)
        return ERR_NO_MEMORY;
    for (size_t i = 0; i < totals->names.count; i++) {
        struct table_cell *row = table_add_row(table);
        if (!row ||
            cell_set_text(table, &row[CELL_NAME], totals->names.strings[i].bytes, totals->names.strings[i].length) != 0)
            return ERR_NO_MEMORY;
        process_sum_set(row, totals, &totals->groups[i]);
        cell_set_int(&row[CELL_COUNT], totals->groups[i].count);
    }
    table_sort_by(table, BY(DOWN(CELL_PATH), DOWN(CELL_CPU), DOWN(CELL_WALL), CELL_NAME));
    return 0;
}

/* The command line; without one the name. */
static int process_sum_set_command(struct table *table, struct table_cell *cell, const struct program *program,
                                   struct report *report)
{
    struct text name = { 0 };
    int code;

    if (program->command >= 0)
        return cell_set_pooled(table, cell, report, program->command);
    program_name(&name, program, report);
    code = cell_set_built(table, cell, &name);
    text_free(&name);
    return code;
}

static int process_sum_by_process(struct process_sum_totals *totals, struct table **out)
{
    enum { CELL_START = CELL_FIRST_OWN, CELL_PID, CELL_PARENT, CELL_COMMAND, CELLS };
    static const struct table_column columns[CELLS] = {
        PROCESS_SUM_COLUMNS,
        { "Start", CELL_INT, UNIT_TIME, 0 },
        { "PID", CELL_INT, UNIT_ID, 0 },
        { "Parent PID", CELL_INT, UNIT_ID, 0 },
        { "Command", CELL_TEXT, UNIT_NAME, 0 },
    };
    struct table *table = *out = table_new(columns, CELLS);

    if (!table)
        return ERR_NO_MEMORY;
    for (size_t i = 0; i < totals->programs.count; i++) {
        const struct program *program = &totals->programs.list[i];
        if (!process_sum_is_chosen(totals, i))
            continue;
        struct table_cell *row = table_add_row(table);
        if (!row || process_sum_set_command(table, &row[CELL_COMMAND], program, totals->report) != 0)
            return ERR_NO_MEMORY;
        process_sum_set(row, totals, &totals->uses[i]);
        cell_set_int(&row[CELL_START], program->start_ns);
        cell_set_int(&row[CELL_PID], global_pid_number(program->process));
        if (program->parent)
            cell_set_int(&row[CELL_PARENT], global_pid_number(program->parent));
    }
    table_sort_by(table, BY(DOWN(CELL_PATH), DOWN(CELL_CPU), DOWN(CELL_WALL), CELL_PID));
    return 0;
}

static int process_sum_make(struct process_sum_totals *totals, const struct analysis_request *request,
                            struct table **table, struct error *err)
{
    int code;

    if ((code = programs_read(&totals->programs, totals->report, err)) != 0 ||
        (code = filter_open(&totals->filter, totals->report, request, err)) != 0)
        return code;
    if (!(totals->uses = calloc(totals->programs.count + 1, sizeof *totals->uses)))
        return error_short_memory(err, "for the programs");
    process_sum_take_lives(totals);
    if ((code = process_sum_read_path(totals, err)) != 0 || (code = process_sum_read_calls(totals, err)) != 0 ||
        (code = process_sum_read_shorts(totals, err)) != 0)
        return code;
    return option_given(request, "processes") ? process_sum_by_process(totals, table)
                                              : process_sum_by_command(totals, table);
}

static int process_sum(struct report *report, const struct analysis_request *request, struct table **out,
                       struct error *err)
{
    struct process_sum_totals totals = { .report = report };
    struct table *table = NULL;
    int code = process_sum_make(&totals, request, &table, err);

    filter_close(&totals.filter);
    programs_free(&totals.programs);
    intern_free(&totals.names);
    free(totals.uses);
    free(totals.groups);
    return table_hand_over(table, code, out, err);
}

/* More than a few processes. Those of a set belong to ranks, which have reports of their own. */
static int process_sum_is_of_tree(struct report *report)
{
    enum { FEW_PROCESSES = 3 };
    struct programs programs = { 0 };
    struct error ignored = { 0 };
    size_t count = 0;

    if (report_part_count(report) > 0 || programs_read(&programs, report, &ignored) != 0)
        return 0;
    for (size_t i = 0; i < programs.count; i++)
        count += !i || programs.list[i].process != programs.list[i - 1].process;
    programs_free(&programs);
    return count > FEW_PROCESSES;
}

const struct analysis analysis_process_sum = {
    .name = "process_sum",
    .title = "Process Summary",
    .usage = "[:processes]",
    .help = "What the programs of a process tree used, by command (processes: by process). Path is the share of the "
            "critical path, which set the wall time (wall_sum has it by function): the programs whose time is worth "
            "saving stand first. Wall Time is the sum of lifetimes. Read and Written are the bytes of read, write, "
            "send, recv and their like, to files, pipes and sockets; what a stream of libc moves is no part of it.",
    .needs = { { "processes", TABLES("TACHO_PROCESS") } },
    .by_default = 23,
    .default_where = "TACHO_PROCESS",
    .is_worth_showing = process_sum_is_of_tree,
    .default_rows = 20,
    .run = process_sum,
};
