/* The wall time of a program by line of its own code: the chain of wall_path.h, each piece at its place.
 *
 *     struct wall_lines lines;
 *     int code = wall_lines_read(&lines, report, filter, err);
 *     … lines.list, lines.whole_ns …
 *     wall_lines_free(&lines);      (after an error, too) */
#ifndef TACHO_ANALYZE_MODEL_WALL_WALL_LINES_H
#define TACHO_ANALYZE_MODEL_WALL_WALL_LINES_H

#include "analyze/engine/table.h"
#include "analyze/model/places/places.h"
#include "analyze/model/threads.h"
#include "wall_path.h"

/* A state is an enum wall_kind, or the time of Python's import machinery. */
enum { WALL_IMPORTS = WALL_KINDS, WALL_STATES };

struct wall_line {
    int64_t state, place, call, process; /* place: in places, or -1; call: a string of the report, or -1 */
    int64_t total_ns, count;             /* count: of waits */
    int64_t longest_ns, longest_from_ns, longest_thread;
};

struct wall_lines {
    struct places places;
    struct wall_path path;
    struct process_names names, commands;
    struct keys keys;
    struct wall_line *list; /* owned; keys.count of them */
    size_t room;
    struct intern tails;    /* last parts of names of methods */
    struct keys methods;    /* file and tail */
    uint32_t *method_names; /* owned; by method: its text in places; NO_PLACE_TEXT: there are several */
    size_t method_room;
    int64_t whole_ns;
};

int wall_lines_read(struct wall_lines *lines, struct report *report, const struct filter *filter, struct error *err);
void wall_lines_free(struct wall_lines *lines);

/* Appends the line: "[cc1 a.c]" of a program without lines, nothing of time without a CPU. */
void wall_line_where(struct text *out, const struct wall_lines *lines, const struct wall_line *line);
/* Sets cells of a table: the same; the library function that it called there, or the OS call that it waits in; the name
 * of the process's program. ERR_NO_MEMORY or 0. */
struct wall_line_cells {
    struct table_cell *where, *call, *process;
};
int wall_line_set(struct table *table, struct wall_line_cells cells, const struct wall_lines *lines,
                  const struct wall_line *line);

/* The function of its place, as a number of the places' texts: "forward" of one source is "Net.forward" of another one
 * if no other function of the file ends so. NO_PLACE_TEXT: none. */
uint32_t wall_line_function(const struct wall_lines *lines, const struct wall_line *line);

#endif
