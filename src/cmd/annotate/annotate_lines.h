/* The lines of a function with the samples that are at them, for `tacho annotate`. */
#ifndef TACHO_CMD_ANNOTATE_ANNOTATE_LINES_H
#define TACHO_CMD_ANNOTATE_ANNOTATE_LINES_H

#include "base/error.h"
#include "report/reader/reader.h"

struct annotate_line {
    int64_t line, self, total; /* samples at it, and with what it calls */
};

struct annotate_lines {
    struct annotate_line *list;   /* owned; by line */
    size_t count;
    const char *function, *file;  /* in the report; file: of the source */
    int64_t self, total, samples; /* of the function; samples: all that were looked at */
    size_t others;                /* other functions of this name, which have fewer samples */
};

/* Whether a symbol has the name: all of it ("ns::solve(int)", "Net.forward"), or its last part ("solve", "forward"). */
int annotate_is_named(const char *name, const char *symbol);

/* The function of this name that most samples are in. ERR_NO_DATA with a sentence if there is none. After an error
 * there is nothing to free. */
int annotate_lines_read(struct annotate_lines *lines, struct report *report, const char *name, struct error *err);
void annotate_lines_free(struct annotate_lines *lines);

#endif
