/* Programs of processes: see programs.h. */
#include "programs.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/engine/event_columns.h"
#include "analyze/engine/row_cursor.h"
#include "base/array.h"
#include "base/path.h"

static int programs_by_row(const void *a, const void *b)
{
    const struct program *x = a, *y = b;

    return COMPARE(x->process, y->process) ?: COMPARE(x->image, y->image) ?: COMPARE(x->row, y->row);
}

/* Several rows can be about one program: what the last one says is valid. */
static void programs_keep_last(struct programs *programs)
{
    size_t kept = 0;

    if (programs->count)
        qsort(programs->list, programs->count, sizeof *programs->list, programs_by_row);
    for (size_t i = 0; i < programs->count; i++) {
        struct program *last = kept ? &programs->list[kept - 1] : NULL, *next = &programs->list[i];
        if (last && last->process == next->process && last->image == next->image)
            *last = *next;
        else
            programs->list[kept++] = *next;
    }
    programs->count = kept;
}

int programs_read(struct programs *programs, struct report *report, struct error *err)
{
    enum { PROCESS, IMAGE, PARENT, START, END, CPU, EXE, COMMAND, ORIGIN, ENDING };
    static const char *const names[] = { "globalPid", "image",   "parentGlobalPid", "start",  "end", "cpuNs",
                                         "exe",       "command", "origin",          "ending", NULL };
    int64_t last_ns = report_times(report).to_ns;
    struct row_cursor rows;
    int code = row_cursor_open(&rows, report, "TACHO_PROCESS", names, err);

    if (code != 0)
        return code;
    while (row_cursor_next(&rows)) {
        const struct program program = {
            .process = row_int(&rows, PROCESS),
            .image = row_int(&rows, IMAGE),
            .parent = row_int_or(&rows, PARENT, 0),
            .start_ns = row_int(&rows, START),
            .end_ns = row_int_or(&rows, END, last_ns),
            .cpu_ns = row_int_or(&rows, CPU, -1),
            .exe = row_int_or(&rows, EXE, -1),
            .command = row_int_or(&rows, COMMAND, -1),
            .row = rows.row,
            .is_before_exec = strcmp(row_string(&rows, report, ORIGIN), "fork") == 0 &&
                              strcmp(row_string(&rows, report, ENDING), "exec") == 0,
        };
        if (ARRAY_PUSH(programs->list, programs->room, programs->count, program) != 0 &&
            (code = error_short_memory(err, "for the programs")) != 0)
            break;
    }
    programs_keep_last(programs);
    row_cursor_close(&rows);
    return code;
}

void programs_free(struct programs *programs)
{
    free(programs->list);
    *programs = (struct programs){ 0 };
}

/* The program that a forked child became. */
static size_t programs_after_exec(const struct programs *programs, size_t at)
{
    const struct program *program = &programs->list[at];

    return program->is_before_exec && at + 1 < programs->count && program[1].process == program->process ? at + 1 : at;
}

size_t programs_at(const struct programs *programs, int64_t process, int64_t time_ns)
{
    const struct program *list = programs->list;
    size_t first = BISECT(0, programs->count, i, list[i].process < process),
           behind = BISECT(first, programs->count, i, list[i].process == process && list[i].start_ns <= time_ns);

    if (first == programs->count || list[first].process != process)
        return NO_PROGRAM;
    return programs_after_exec(programs, behind > first ? behind - 1 : first);
}

size_t programs_of_image(const struct programs *programs, int64_t process, int64_t image)
{
    const struct program *list = programs->list;
    size_t at = BISECT(0, programs->count, i,
                       list[i].process < process || (list[i].process == process && list[i].image < image));

    return at < programs->count && list[at].process == process && list[at].image == image
               ? programs_after_exec(programs, at)
               : NO_PROGRAM;
}

/* The first word of a command line that is quoted as for a shell. */
static void programs_add_word(struct text *out, const char *command)
{
    int is_quoted = 0;

    for (; *command && (is_quoted || *command != ' '); command++) {
        if (*command == '\'')
            is_quoted = !is_quoted;
        else if (*command == '\\' && !is_quoted && command[1])
            text_add_char(out, *++command);
        else
            text_add_char(out, *command);
    }
}

void program_name(struct text *out, const struct program *program, struct report *report)
{
    struct text word = { 0 };

    if (program->command >= 0)
        programs_add_word(&word, report_string(report, program->command, NULL));
    const char *name = path_base_name(text_string(&word));
    if (!*name && program->exe >= 0)
        name = path_base_name(report_string(report, program->exe, NULL));
    text_add(out, name);
    text_free(&word);
}
