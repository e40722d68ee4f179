/* Finds the places of the pieces of the chain, and adds up their times: see wall_lines.h. */
#include "wall_lines.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/engine/cell_text.h"
#include "analyze/engine/event_columns.h"
#include "base/array.h"
#include "base/path.h"
#include "base/saturating.h"

enum { LINE_STATE, LINE_PLACE, LINE_CALL, LINE_PROCESS, LINE_PARTS };

/* The last place of a thread that is known, and how long it has run since. */
struct wall_last {
    int64_t thread, since_ns;
    uint32_t place;
};

/* While pieces are added. */
struct wall_adding {
    struct wall_lines *lines;
    const struct wall_piece *piece;
    struct wall_last last;
};

void wall_lines_free(struct wall_lines *lines)
{
    keys_free(&lines->keys);
    free(lines->list);
    intern_free(&lines->tails);
    keys_free(&lines->methods);
    free(lines->method_names);
    process_names_free(&lines->names);
    process_names_free(&lines->commands);
    places_close(&lines->places);
    wall_path_free(&lines->path);
}

/* ---- adding up -------------------------------------------------------------------------------------------------- */

static const char *wall_lines_act(const struct wall_lines *lines, int64_t place)
{
    return place < 0 ? "" : places_string(&lines->places, places_get(&lines->places, (uint32_t)place).act);
}

/* Between two samples that are further apart than usual a thread is where it was, unless it waited meanwhile. */
static uint32_t wall_fill(struct wall_last *last, int64_t thread, uint32_t place, int64_t time_ns)
{
    enum { FILLED_NS = 10000000 };

    if (place != NO_PLACE || last->thread != thread) {
        *last = (struct wall_last){ thread, 0, place };
        return place;
    }
    last->since_ns = saturating_add(last->since_ns, time_ns);
    return last->since_ns <= FILLED_NS ? last->place : NO_PLACE;
}

static uint32_t wall_adding_fill(struct wall_adding *adding, uint32_t place, int64_t time_ns)
{
    const struct wall_piece *piece = adding->piece;

    if (piece->kind == WALL_RUNS)
        return wall_fill(&adding->last, piece->thread, place, time_ns);
    if (piece->kind != WALL_READY)
        adding->last = (struct wall_last){ piece->thread, 0, NO_PLACE };
    return place;
}

/* Functions of other programs that the program starts, such as a compiler's, are nobody's own code without lines. */
static uint32_t wall_adding_own(const struct wall_adding *adding, uint32_t place)
{
    const struct wall_lines *lines = adding->lines;

    if (place == NO_PLACE || global_process(adding->piece->thread) == lines->path.threads.program->id)
        return place;
    struct place found = places_get(&lines->places, place);
    return found.kind == PLACE_NATIVE && found.line <= 0 ? NO_PLACE : place;
}

static int wall_adding_add(void *context, uint32_t place, int64_t from_ns, int64_t to_ns)
{
    static const char import[] = "_find_and_load";
    struct wall_adding *adding = context;
    struct wall_lines *lines = adding->lines;
    const struct wall_piece *piece = adding->piece;
    int64_t time_ns = saturating_duration(from_ns, to_ns);

    place = wall_adding_own(adding, wall_adding_fill(adding, place, time_ns));
    int64_t number = place == NO_PLACE ? -1 : (int64_t)place, state = piece->kind;
    if (text_begins_with(wall_lines_act(lines, number), import))
        state = WALL_IMPORTS;
    const int64_t key[LINE_PARTS] = { state, number, piece->call, global_process(piece->thread) };
    uint32_t at = keys_add(&lines->keys, key);
    if (at == NO_KEY || array_reserve_zeroed(&lines->list, &lines->room, at + 1u, sizeof *lines->list) != 0)
        return ERR_NO_MEMORY;
    struct wall_line *line = &lines->list[at];
    if (!line->count++)
        *line = (struct wall_line){ key[LINE_STATE], key[LINE_PLACE], key[LINE_CALL], key[LINE_PROCESS], .count = 1 };
    if (time_ns > line->longest_ns) {
        line->longest_ns = time_ns;
        line->longest_from_ns = from_ns;
        line->longest_thread = piece->thread;
    }
    line->total_ns = saturating_add(line->total_ns, time_ns);
    lines->whole_ns = saturating_add(lines->whole_ns, time_ns);
    return 0;
}

/* A wait is at one line, work may be at many. Time without a CPU is the fault of no line. */
static int wall_adding_piece(struct wall_adding *adding, const struct wall_piece *piece)
{
    struct places *places = &adding->lines->places;

    adding->piece = piece;
    if (piece->kind == WALL_READY)
        return wall_adding_add(adding, NO_PLACE, piece->from_ns, piece->to_ns);
    if (piece->kind == WALL_RUNS)
        return places_each(places, piece->thread, piece->from_ns, piece->to_ns, wall_adding_add, adding);
    return wall_adding_add(adding, places_at(places, piece->thread, piece->from_ns, piece->to_ns), piece->from_ns,
                           piece->to_ns);
}

/* Remembers "Net.forward" as what "forward" may be. */
static int wall_lines_add_method(struct wall_lines *lines, const struct place *place)
{
    const char *name = places_string(&lines->places, place->function), *dot = strrchr(name, '.');

    if (place->kind != PLACE_PYTHON || !dot)
        return 0;
    const int64_t method[] = { place->file, intern_add(&lines->tails, dot + 1, strlen(dot + 1)) };
    size_t known = lines->methods.count;
    uint32_t at = method[1] < 0 ? NO_KEY : keys_add(&lines->methods, method);
    if (at == NO_KEY ||
        array_reserve(&lines->method_names, &lines->method_room, at + 1u, sizeof *lines->method_names) != 0)
        return ERR_NO_MEMORY;
    int is_other = at < known && lines->method_names[at] != place->function;
    lines->method_names[at] = is_other ? NO_PLACE_TEXT : place->function;
    return 0;
}

static int wall_lines_add_methods(struct wall_lines *lines)
{
    for (uint32_t i = 0; i < lines->keys.count; i++) {
        if (lines->list[i].place < 0)
            continue;
        struct place place = places_get(&lines->places, (uint32_t)lines->list[i].place);
        if (wall_lines_add_method(lines, &place) != 0)
            return ERR_NO_MEMORY;
    }
    return 0;
}

int wall_lines_read(struct wall_lines *lines, struct report *report, const struct filter *filter, struct error *err)
{
    struct wall_adding adding = { .lines = lines, .last.place = NO_PLACE };
    int code;

    *lines = (struct wall_lines){ .keys.width = LINE_PARTS, .methods.width = 2 };
    if ((code = wall_path_read(&lines->path, report, filter, err)) != 0 ||
        (code = places_open(&lines->places, report, err)) != 0 ||
        (code = places_add_os_calls(&lines->places, err)) != 0 ||
        (code = process_names_read(&lines->names, report, err)) != 0 ||
        (code = process_commands_read(&lines->commands, report, err)) != 0)
        return code;
    for (size_t i = 0; i < lines->path.count; i++)
        if (wall_adding_piece(&adding, &lines->path.list[i]) != 0)
            return error_short_memory(err, "for the wall time");
    if (wall_lines_add_methods(lines) != 0)
        return error_short_memory(err, "for the wall time");
    return 0;
}

/* ---- texts ------------------------------------------------------------------------------------------------------ */

/* The first line of a command, without the folder of its program. */
static void wall_line_add_command(struct text *out, const char *command)
{
    const char *end = command + strcspn(command, " "), *start = command;

    for (const char *at = command; at < end; at++)
        start = *at == '/' ? at + 1 : start;
    start = start < end ? start : command;
    size_t length = strcspn(start, "\n");
    text_add_char(out, '[');
    text_add_bytes(out, start, length);
    text_add(out, start[length] ? " …]" : "]");
}

void wall_line_where(struct text *out, const struct wall_lines *lines, const struct wall_line *line)
{
    int64_t command = process_name_find(&lines->commands, line->process);

    if (line->place >= 0)
        place_text(out, &lines->places, (uint32_t)line->place);
    else if (command >= 0 && line->state != WALL_READY)
        wall_line_add_command(out, report_string(lines->places.report, command, NULL));
}

static void wall_line_call(struct text *out, const struct wall_lines *lines, const struct wall_line *line)
{
    const char *act = wall_lines_act(lines, line->place);

    if (line->state == WALL_IMPORTS)
        text_add(out, "import");
    else if (*act)
        text_add(out, act);
    else if (line->call >= 0)
        text_add(out, report_string(lines->places.report, line->call, NULL));
}

static void wall_line_process(struct text *out, const struct wall_lines *lines, const struct wall_line *line)
{
    int64_t name = process_name_find(&lines->names, line->process);

    text_add(out, name < 0 ? "" : path_base_name(report_string(lines->places.report, name, NULL)));
}

static int wall_line_set_texts(struct table *table, struct wall_line_cells cells, const struct wall_lines *lines,
                               const struct wall_line *line, struct text *text)
{
    const struct {
        struct table_cell *cell;
        void (*add)(struct text *out, const struct wall_lines *lines, const struct wall_line *line);
    } texts[] = { { cells.where, wall_line_where },
                  { cells.call, wall_line_call },
                  { cells.process, wall_line_process } };

    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        text_clear(text);
        texts[i].add(text, lines, line);
        if (cell_set_built(table, texts[i].cell, text) != 0)
            return ERR_NO_MEMORY;
    }
    return 0;
}

int wall_line_set(struct table *table, struct wall_line_cells cells, const struct wall_lines *lines,
                  const struct wall_line *line)
{
    struct text text = { 0 };
    int code = wall_line_set_texts(table, cells, lines, line, &text);

    text_free(&text);
    return code;
}

uint32_t wall_line_function(const struct wall_lines *lines, const struct wall_line *line)
{
    if (line->place < 0)
        return NO_PLACE_TEXT;
    struct place place = places_get(&lines->places, (uint32_t)line->place);
    const char *name = places_string(&lines->places, place.function);
    const int64_t method[] = { place.file, intern_find(&lines->tails, name, strlen(name)) };
    uint32_t at = place.kind == PLACE_PYTHON ? keys_find(&lines->methods, method) : NO_KEY;

    return at == NO_KEY || lines->method_names[at] == NO_PLACE_TEXT ? place.function : lines->method_names[at];
}
