/* Reading /proc/kallsyms and perf maps: see other_names.h. Both are lines of text that may be anything. */
#include "other_names.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define LINES_MAX (1u << 24)

void names_add_kernel(struct names *names)
{
    FILE *file = fopen("/proc/kallsyms", "re");
    char *line = NULL;
    size_t capacity = 0;
    for (unsigned i = 0; file && i < LINES_MAX && getline(&line, &capacity, file) > 0; i++) {
        uint64_t address;
        char kind;
        int at = 0;
        if (sscanf(line, "%" SCNx64 " %c %n", &address, &kind, &at) < 2 || !at || address == 0 || !strchr("tTwW", kind))
            continue; /* addresses are 0 for those who may not see them */
        names_add(names, address, 0, line + at, strcspn(line + at, "\n"), kind == 'T' ? 2 : 1);
    }
    free(line);
    if (file)
        fclose(file);
}

/* The process names it by the number that it has for itself, in its own /tmp. */
static FILE *open_made(struct symbols_process *process)
{
    char path[64];
    snprintf(path, sizeof path, "/tmp/perf-%d.map", (int)process->inner_pid);
    int descriptor = space_open(process, path);
    struct stat status;
    if (descriptor >= 0 && (fstat(descriptor, &status) != 0 || !S_ISREG(status.st_mode))) {
        close(descriptor);
        return NULL;
    }
    FILE *file = descriptor >= 0 ? fdopen(descriptor, "r") : NULL;
    if (!file && descriptor >= 0)
        close(descriptor);
    return file;
}

void names_add_made(struct names *names, struct symbols_process *process)
{
    FILE *file = open_made(process);
    names->last_wins = 1;
    char *line = NULL;
    size_t capacity = 0;
    for (unsigned i = 1; file && i < LINES_MAX && getline(&line, &capacity, file) > 0; i++) {
        uint64_t start, size;
        int at = 0;
        if (sscanf(line, "%" SCNx64 " %" SCNx64 " %n", &start, &size, &at) < 2 || !at || size == 0)
            continue;
        if (line[at] && line[at] != '\n')
            names_add(names, start, size, line + at, strcspn(line + at, "\n"), i); /* memory is used again: the last line of a place counts */
    }
    free(line);
    if (file)
        fclose(file);
}
