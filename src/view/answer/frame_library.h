/* The library that a frame of a stack belongs to, so that the page can show the program's own lines first. */
#ifndef TACHO_VIEW_ANSWER_FRAME_LIBRARY_H
#define TACHO_VIEW_ANSWER_FRAME_LIBRARY_H

#include <stddef.h>

/* As in a frame; texts need no NUL after them. */
struct frame_origin {
    const char *kind, *file, *module;
    size_t file_length, module_length;
};
/* Its name ("torch", "libc", "Python", "kernel"), or NULL for code of the program. */
const char *frame_library(const struct frame_origin *frame, size_t *length);

#endif
