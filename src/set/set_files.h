/* The files of a set. */
#ifndef TACHO_SET_SET_FILES_H
#define TACHO_SET_SET_FILES_H

#include <stddef.h>

#include "base/error.h"

struct set_files {
    char **paths; /* each once, in the order of the operands; those of a folder by name */
    size_t count, capacity;
};

/* Freed by the caller after an error too. */
int set_files_find(struct set_files *files, const char *const *operands, size_t count, struct error *err);
void set_files_free(struct set_files *files);

#endif
