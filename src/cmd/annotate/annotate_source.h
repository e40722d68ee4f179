/* The text of a source file, line by line. */
#ifndef TACHO_CMD_ANNOTATE_ANNOTATE_SOURCE_H
#define TACHO_CMD_ANNOTATE_ANNOTATE_SOURCE_H

#include <stddef.h>
#include <stdint.h>

#include "base/text.h"

/* Starts from {0}. */
struct annotate_source {
    struct text text, path; /* owned; path: of the file that was found */
    const char **lines;     /* owned; in the text, each up to a line feed */
    int64_t count;          /* 0: no file was found */
};

/* Looks for the file at its path, and in the folder unless that is NULL: with as much of the path as fits there.
 * ERR_NO_MEMORY or 0. */
int annotate_source_open(struct annotate_source *source, const char *file, const char *folder);
void annotate_source_close(struct annotate_source *source);

/* The line, from 1 on, and its length; "" if there is none. */
const char *annotate_source_line(const struct annotate_source *source, int64_t line, size_t *length);

#endif
