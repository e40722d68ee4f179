/* wall_sum: where the wall time of a program went, by function or line of its own code: see wall_path.h. */
#include <stdlib.h>
#include <string.h>

#include "analyze/engine/cell_text.h"
#include "analyze/engine/event_columns.h"
#include "analyze/engine/report_options.h"
#include "analyze/model/places/places.h"
#include "analyze/model/threads.h"
#include "analyze/model/wall/wall_path.h"
#include "analyze/registry.h"
#include "base/array.h"
#include "base/path.h"
#include "base/saturating.h"

/* A state is an enum wall_kind, or the time of Python's import machinery. */
enum { IMPORTING = WALL_KINDS, STATES };
static const char *const wall_sum_states[STATES] = {
    [WALL_RUNS] = "computing", [WALL_READY] = "no CPU", [WALL_SLEEPS] = "sleeping", [WALL_IO] = "I/O",
    [WALL_EVENTS] = "events",  [WALL_LOCKS] = "lock",   [WALL_WAITS] = "waiting",   [IMPORTING] = "importing",
};

/* Lines, and functions. Place: as a number of the places; call, file, function: of string pools; -1: none. */
enum { LINE_STATE, LINE_PLACE, LINE_CALL, LINE_PROCESS, LINE_PARTS };
enum { GROUP_STATE, GROUP_FILE, GROUP_FUNCTION, GROUP_COMMAND, GROUP_PARTS };

struct wall_sum_group {
    int64_t total_ns, longest_ns;
    uint32_t line; /* the one with most time */
};

struct wall_sum_totals {
    struct places places;
    struct wall_path path;
    struct process_names names, commands;
    struct keys lines, groups;
    int64_t *line_ns;            /* owned; by line */
    size_t line_room;
    struct wall_sum_group *list; /* owned; by group */
    size_t room;
    const struct wall_piece *piece;
    struct wall_sum_last {
        int64_t thread, since_ns; /* how long it has run since */
        uint32_t place;
    } last;                       /* that is known */
    int by_line;
};

/* ---- lines ------------------------------------------------------------------------------------------------------ */

static const char *wall_sum_act(const struct wall_sum_totals *totals, int64_t place)
{
    return place < 0 ? "" : places_string(&totals->places, places_get(&totals->places, (uint32_t)place).act);
}

/* Between two samples that are further apart than usual a thread is where it was, unless it waited meanwhile. */
static uint32_t wall_sum_fill_place(struct wall_sum_totals *totals, uint32_t place, int64_t time_ns)
{
    enum { FILLED_NS = 10000000 };
    struct wall_sum_last *last = &totals->last;
    const struct wall_piece *piece = totals->piece;

    if (piece->kind == WALL_READY)
        return place;
    if (piece->kind != WALL_RUNS || place != NO_PLACE || last->thread != piece->thread) {
        *last = (struct wall_sum_last){ piece->thread, 0, piece->kind == WALL_RUNS ? place : NO_PLACE };
        return place;
    }
    last->since_ns = saturating_add(last->since_ns, time_ns);
    return last->since_ns <= FILLED_NS ? last->place : NO_PLACE;
}

static int wall_sum_add(void *context, uint32_t place, int64_t from_ns, int64_t to_ns)
{
    static const char import[] = "_find_and_load";
    struct wall_sum_totals *totals = context;
    const struct wall_piece *piece = totals->piece;

    place = wall_sum_fill_place(totals, place, saturating_duration(from_ns, to_ns));
    int64_t number = place == NO_PLACE ? -1 : (int64_t)place, state = piece->kind;

    if (text_begins_with(wall_sum_act(totals, number), import))
        state = IMPORTING;
    const int64_t key[LINE_PARTS] = { state, number, piece->call, global_process(piece->thread) };
    uint32_t at = keys_add(&totals->lines, key);
    if (at == NO_KEY ||
        array_reserve_zeroed(&totals->line_ns, &totals->line_room, at + 1u, sizeof *totals->line_ns) != 0)
        return ERR_NO_MEMORY;
    totals->line_ns[at] = saturating_add(totals->line_ns[at], saturating_duration(from_ns, to_ns));
    return 0;
}

/* A wait is at one line, work may be at many. Time without a CPU is the fault of no line. */
static int wall_sum_add_piece(struct wall_sum_totals *totals, const struct wall_piece *piece)
{
    struct places *places = &totals->places;

    totals->piece = piece;
    if (piece->kind == WALL_READY)
        return wall_sum_add(totals, NO_PLACE, piece->from_ns, piece->to_ns);
    if (piece->kind == WALL_RUNS)
        return places_each(places, piece->thread, piece->from_ns, piece->to_ns, wall_sum_add, totals);
    return wall_sum_add(totals, places_at(places, piece->thread, piece->from_ns, piece->to_ns), piece->from_ns,
                        piece->to_ns);
}

/* ---- functions --------------------------------------------------------------------------------------------------- */

/* The lines of a function are one row, and so are all imports. Processes of one command count together. */
static int wall_sum_group_line(struct wall_sum_totals *totals, uint32_t line)
{
    const int64_t *key = keys_get(&totals->lines, line);
    int64_t group[GROUP_PARTS] = { key[LINE_STATE], -1, -1, process_name_find(&totals->commands, key[LINE_PROCESS]) };

    if (totals->by_line) {
        group[GROUP_FILE] = line;
    } else if (key[LINE_PLACE] >= 0 && key[LINE_STATE] != IMPORTING) {
        struct place place = places_get(&totals->places, (uint32_t)key[LINE_PLACE]);
        group[GROUP_FILE] = place.file;
        group[GROUP_FUNCTION] = place.function;
    }
    uint32_t at = keys_add(&totals->groups, group);
    if (at == NO_KEY || array_reserve_zeroed(&totals->list, &totals->room, at + 1u, sizeof *totals->list) != 0)
        return ERR_NO_MEMORY;
    struct wall_sum_group *own = &totals->list[at];
    int64_t time_ns = totals->line_ns[line];
    if (time_ns > own->longest_ns || !own->total_ns) {
        own->longest_ns = time_ns;
        own->line = line;
    }
    own->total_ns = saturating_add(own->total_ns, time_ns);
    return 0;
}

static int wall_sum_add_up(struct wall_sum_totals *totals)
{
    int code;

    for (size_t i = 0; i < totals->path.count; i++)
        if ((code = wall_sum_add_piece(totals, &totals->path.list[i])) != 0)
            return code;
    for (uint32_t i = 0; i < totals->lines.count; i++)
        if ((code = wall_sum_group_line(totals, i)) != 0)
            return code;
    return 0;
}

/* ---- the table ------------------------------------------------------------------------------------------------- */

enum { CELL_SHARE, CELL_TIME, CELL_STATE, CELL_WHERE, CELL_CALL, CELL_PROCESS, CELL_PID, CELLS };

/* A command line without the folder of its program. */
static const char *wall_sum_short_command(const char *command)
{
    const char *end = command + strcspn(command, " "), *start = command;

    for (const char *at = command; at < end; at++)
        start = *at == '/' ? at + 1 : start;
    return start < end ? start : command;
}

/* The line; of a program without lines the command. */
static void wall_sum_add_where(struct text *out, const struct wall_sum_totals *totals, const int64_t *key)
{
    int64_t command = process_name_find(&totals->commands, key[LINE_PROCESS]);

    if (key[LINE_PLACE] >= 0)
        place_text(out, &totals->places, (uint32_t)key[LINE_PLACE]);
    else if (command >= 0 && key[LINE_STATE] != WALL_READY)
        text_addf(out, "[%s]", wall_sum_short_command(report_string(totals->places.report, command, NULL)));
}

/* The library function that the line called, or the OS call that it waits in. */
static void wall_sum_add_call(struct text *out, const struct wall_sum_totals *totals, const int64_t *key)
{
    const char *act = wall_sum_act(totals, key[LINE_PLACE]);

    if (key[LINE_STATE] == IMPORTING)
        text_add(out, "import");
    else if (*act)
        text_add(out, act);
    else if (key[LINE_CALL] >= 0)
        text_add(out, report_string(totals->places.report, key[LINE_CALL], NULL));
}

static void wall_sum_add_process(struct text *out, const struct wall_sum_totals *totals, const int64_t *key)
{
    int64_t name = process_name_find(&totals->names, key[LINE_PROCESS]);

    text_add(out, name < 0 ? "" : path_base_name(report_string(totals->places.report, name, NULL)));
}

static int wall_sum_add_row(struct table *table, const struct wall_sum_totals *totals,
                            const struct wall_sum_group *group, int64_t whole_ns, struct text *text)
{
    static const struct {
        int cell;
        void (*add)(struct text *out, const struct wall_sum_totals *totals, const int64_t *key);
    } texts[] = { { CELL_WHERE, wall_sum_add_where },
                  { CELL_CALL, wall_sum_add_call },
                  { CELL_PROCESS, wall_sum_add_process } };
    const int64_t *key = keys_get(&totals->lines, group->line);
    struct table_cell *row = table_add_row(table);

    if (!row || cell_set_string(table, &row[CELL_STATE], wall_sum_states[key[LINE_STATE]]) != 0)
        return ERR_NO_MEMORY;
    cell_set_real(&row[CELL_SHARE], whole_ns > 0 ? 100.0 * (double)group->total_ns / (double)whole_ns : 0);
    cell_set_int(&row[CELL_TIME], group->total_ns);
    cell_set_int(&row[CELL_PID], global_pid_number(key[LINE_PROCESS]));
    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        text_clear(text);
        texts[i].add(text, totals, key);
        if (cell_set_built(table, &row[texts[i].cell], text) != 0)
            return ERR_NO_MEMORY;
    }
    return 0;
}

static int wall_sum_add_rows(struct table *table, const struct wall_sum_totals *totals, struct text *text)
{
    int64_t whole_ns = 0;
    int code;

    for (uint32_t i = 0; i < totals->groups.count; i++)
        whole_ns = saturating_add(whole_ns, totals->list[i].total_ns);
    for (uint32_t i = 0; i < totals->groups.count; i++)
        if ((code = wall_sum_add_row(table, totals, &totals->list[i], whole_ns, text)) != 0)
            return code;
    table_sort_by(table, BY(DOWN(CELL_TIME), CELL_PID, CELL_WHERE, CELL_CALL, CELL_STATE));
    return 0;
}

static int wall_sum_fill(struct table *table, const struct wall_sum_totals *totals)
{
    struct text text = { 0 };
    int code = wall_sum_add_rows(table, totals, &text);

    text_free(&text);
    return code;
}

static int wall_sum_make(struct wall_sum_totals *totals, struct report *report, struct table **table, struct error *err)
{
    static const struct table_column columns[CELLS] = {
        { "Time", CELL_REAL, UNIT_PERCENT, 1 }, { "Wall Time", CELL_INT, UNIT_NS, 0 },
        { "State", CELL_TEXT, UNIT_NONE, 0 },   { "Where", CELL_TEXT, UNIT_NONE, 0 },
        { "Call", CELL_TEXT, UNIT_NONE, 0 },    { "Process", CELL_TEXT, UNIT_NONE, 0 },
        { "PID", CELL_INT, UNIT_ID, 0 },
    };
    int code;

    if ((code = wall_path_read(&totals->path, report, err)) != 0 ||
        (code = places_open(&totals->places, report, err)) != 0 ||
        (code = places_add_os_calls(&totals->places, err)) != 0 ||
        (code = process_names_read(&totals->names, report, err)) != 0 ||
        (code = process_commands_read(&totals->commands, report, err)) != 0)
        return code;
    *table = table_new(columns, CELLS);
    if (!*table || wall_sum_add_up(totals) != 0 || wall_sum_fill(*table, totals) != 0)
        return error_short_memory(err, "for the wall time");
    return 0;
}

static int wall_sum(struct report *report, const struct analysis_request *request, struct table **out,
                    struct error *err)
{
    struct wall_sum_totals totals = { .lines.width = LINE_PARTS,
                                      .groups.width = GROUP_PARTS,
                                      .last.place = NO_PLACE,
                                      .by_line = option_given(request, "lines") };
    struct table *table = NULL;
    int code = wall_sum_make(&totals, report, &table, err);

    keys_free(&totals.lines);
    keys_free(&totals.groups);
    free(totals.line_ns);
    free(totals.list);
    process_names_free(&totals.names);
    process_names_free(&totals.commands);
    places_close(&totals.places);
    wall_path_free(&totals.path);
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
            "without known lines, the command.",
    .needs = { { "lifetimes of threads", TABLES("TACHO_THREAD") },
               { "OS calls, context switches or samples",
                 TABLES("OSRT_API", "SCHED_EVENTS", "TACHO_PYTHON_SAMPLE", "COMPOSITE_EVENTS") } },
    .default_rows = 20,
    .run = wall_sum,
};
