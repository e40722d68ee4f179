/* wall_sum: where the wall time of a program went, by function or line of its own code: see wall_lines.h. */
#include <stdlib.h>
#include <string.h>

#include "analyze/engine/cell_text.h"
#include "analyze/engine/event_columns.h"
#include "analyze/engine/report_options.h"
#include "analyze/model/wall/wall_lines.h"
#include "analyze/registry.h"
#include "base/array.h"
#include "base/saturating.h"

static const char *const wall_sum_states[WALL_STATES] = {
    [WALL_RUNS] = "computing", [WALL_READY] = "no CPU", [WALL_SLEEPS] = "sleeping", [WALL_IO] = "I/O",
    [WALL_EVENTS] = "events",  [WALL_LOCKS] = "lock",   [WALL_WAITS] = "waiting",   [WALL_IMPORTS] = "importing",
};

/* Lines, or functions: file and function are texts of places, or -1. */
enum { GROUP_STATE, GROUP_FILE, GROUP_FUNCTION, GROUP_COMMAND, GROUP_PARTS };

struct wall_sum_group {
    int64_t total_ns, most_ns;
    uint32_t line;                       /* the one with most time, which is most_ns */
    int64_t longest_ns, longest_from_ns; /* piece of the chain */
};

struct wall_sum_totals {
    struct wall_lines lines;
    struct keys groups;
    struct wall_sum_group *list; /* owned; by group */
    size_t room;
    int by_line;
};

/* ---- functions --------------------------------------------------------------------------------------------------- */

/* The lines of a function are one row, and so are all imports. Processes of one command count together. */
static int wall_sum_group_line(struct wall_sum_totals *totals, uint32_t number)
{
    const struct wall_line *line = &totals->lines.list[number];
    int64_t group[GROUP_PARTS] = { line->state, -1, -1, process_name_find(&totals->lines.commands, line->process) };

    if (totals->by_line) {
        group[GROUP_FILE] = number;
    } else if (line->place >= 0 && line->state != WALL_IMPORTS) {
        group[GROUP_FILE] = places_get(&totals->lines.places, (uint32_t)line->place).file;
        group[GROUP_FUNCTION] = wall_line_function(&totals->lines, line);
    }
    uint32_t at = keys_add(&totals->groups, group);
    if (at == NO_KEY || array_reserve_zeroed(&totals->list, &totals->room, at + 1u, sizeof *totals->list) != 0)
        return ERR_NO_MEMORY;
    struct wall_sum_group *own = &totals->list[at];
    if (line->total_ns > own->most_ns || !own->total_ns) {
        own->most_ns = line->total_ns;
        own->line = number;
    }
    if (line->longest_ns > own->longest_ns || !own->total_ns) {
        own->longest_ns = line->longest_ns;
        own->longest_from_ns = line->longest_from_ns;
    }
    own->total_ns = saturating_add(own->total_ns, line->total_ns);
    return 0;
}

static int wall_sum_add_up(struct wall_sum_totals *totals)
{
    for (uint32_t i = 0; i < totals->lines.keys.count; i++)
        if (wall_sum_group_line(totals, i) != 0)
            return ERR_NO_MEMORY;
    return 0;
}

/* ---- the table ------------------------------------------------------------------------------------------------- */

enum {
    CELL_SHARE,
    CELL_TIME,
    CELL_WHERE,
    CELL_STATE,
    CELL_CALL,
    CELL_PROCESS,
    CELL_LONGEST,
    CELL_START,
    CELL_PID,
    CELLS
};

static int wall_sum_add_row(struct table *table, const struct wall_sum_totals *totals,
                            const struct wall_sum_group *group)
{
    const struct wall_line *line = &totals->lines.list[group->line];
    int64_t whole_ns = totals->lines.whole_ns;
    struct table_cell *row = table_add_row(table);

    if (!row || cell_set_string(table, &row[CELL_STATE], wall_sum_states[line->state]) != 0)
        return ERR_NO_MEMORY;
    cell_set_real(&row[CELL_SHARE], whole_ns > 0 ? 100.0 * (double)group->total_ns / (double)whole_ns : 0);
    cell_set_int(&row[CELL_TIME], group->total_ns);
    cell_set_int(&row[CELL_LONGEST], group->longest_ns);
    cell_set_int(&row[CELL_START], group->longest_from_ns);
    cell_set_int(&row[CELL_PID], global_pid_number(line->process));
    return wall_line_set(table, (struct wall_line_cells){ &row[CELL_WHERE], &row[CELL_CALL], &row[CELL_PROCESS] },
                         &totals->lines, line);
}

static int wall_sum_fill(struct table *table, const struct wall_sum_totals *totals)
{
    for (uint32_t i = 0; i < totals->groups.count; i++)
        if (wall_sum_add_row(table, totals, &totals->list[i]) != 0)
            return ERR_NO_MEMORY;
    table_sort_by(table, BY(DOWN(CELL_TIME), CELL_PID, CELL_WHERE, CELL_CALL, CELL_STATE));
    return 0;
}

static int wall_sum_make(struct wall_sum_totals *totals, struct report *report, const struct filter *filter,
                         struct table **table, struct error *err)
{
    static const struct table_column columns[CELLS] = {
        { "Time", CELL_REAL, UNIT_PERCENT, 1 }, { "Wall Time", CELL_INT, UNIT_NS, 0 },
        { "Where", CELL_TEXT, UNIT_NONE, 0 },   { "State", CELL_TEXT, UNIT_NONE, 0 },
        { "Call", CELL_TEXT, UNIT_NONE, 0 },    { "Process", CELL_TEXT, UNIT_NONE, 0 },
        { "Longest", CELL_INT, UNIT_NS, 0 },    { "Start", CELL_INT, UNIT_TIME, 0 },
        { "PID", CELL_INT, UNIT_ID, 0 },
    };
    int code = wall_lines_read(&totals->lines, report, filter, err);

    if (code != 0)
        return code;
    *table = table_new(columns, CELLS);
    if (!*table || wall_sum_add_up(totals) != 0 || wall_sum_fill(*table, totals) != 0)
        return error_short_memory(err, "for the wall time");
    return 0;
}

static int wall_sum(struct report *report, const struct analysis_request *request, struct table **out,
                    struct error *err)
{
    struct wall_sum_totals totals = { .groups.width = GROUP_PARTS, .by_line = option_given(request, "lines") };
    struct table *table = NULL;
    struct filter filter;
    int code = filter_open(&filter, report, request, err);

    if (code != 0)
        goto close_filter;
    code = wall_sum_make(&totals, report, &filter, &table, err);
close_filter:
    filter_close(&filter);
    wall_lines_free(&totals.lines);
    keys_free(&totals.groups);
    free(totals.list);
    return table_hand_over(table, code, out, err);
}

const struct analysis analysis_wall_sum = {
    .name = "wall_sum",
    .title = "Wall Time by Function",
    .usage = "[:lines]",
    .help = "Where the wall time of the program went, by function of its own code (lines: by line), with what that "
            "calls or waits for. The report follows the chain of threads and processes that set the wall time, back "
            "from the end of the program: a wait for a child, for another thread or for the holder of a lock leads to "
            "what that did meanwhile. So the rows add up to the wall time. Where: the line with most time; of programs "
            "without known lines, the command. Longest, Start: its longest part at a time, and when that began.",
    .needs = { { "lifetimes of threads", TABLES("TACHO_THREAD") },
               { "OS calls, context switches or samples",
                 TABLES("OSRT_API", "SCHED_EVENTS", "TACHO_PYTHON_SAMPLE", "COMPOSITE_EVENTS") } },
    .default_rows = 20,
    .run = wall_sum,
};
