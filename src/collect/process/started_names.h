/* Programs that were started by another name than the one that the kernel has for their file: redis-server is a link to
 * redis-check-rdb. The report calls them, and their code, by the name that the user knows. */
#ifndef TACHO_COLLECT_PROCESS_STARTED_NAMES_H
#define TACHO_COLLECT_PROCESS_STARTED_NAMES_H

#include <sys/types.h>

#include "base/text.h"

struct started_name {
    char *file, *started; /* owned; started NULL: by several names */
};

/* Starts from {0}. */
struct started_names {
    struct started_name *list; /* owned */
    size_t count, room;
};

/* Replaces the path of a program's file (/proc/PID/exe) by the one by which the process was started, if that is a link
 * to the file and its name is no part of the file's (sh of dash). */
void started_names_find(struct started_names *names, pid_t pid, struct text *path);

/* The path by which the file was started; the file itself if it was not, or by several. */
const char *started_names_of(const struct started_names *names, const char *file);

void started_names_free(struct started_names *names);

#endif
