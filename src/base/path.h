/* Paths of files as texts; no file is looked up. */
#ifndef TACHO_BASE_PATH_H
#define TACHO_BASE_PATH_H

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* What follows the last slash; the whole path if nothing does. */
static inline const char *path_base_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash && slash[1] ? slash + 1 : path;
}

/* The bytes of the path up to and with the last slash. */
static inline size_t path_folder_length(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? (size_t)(slash + 1 - path) : 0;
}

/* The part of a path after a word; NULL: the word is not in it. */
static inline const char *path_after(const char *path, size_t length, const char *word)
{
    const char *found = memmem(path, length, word, strlen(word));

    return found ? found + strlen(word) : NULL;
}

/* The folder for temporary files. */
static inline const char *path_temporary(void)
{
    const char *folder = getenv("TMPDIR");

    return folder && *folder ? folder : "/tmp";
}

#endif
