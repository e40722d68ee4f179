/* Reading /proc/kallsyms and perf maps: see other_names.h. Both are lines of text that may be anything. */
#include "other_names.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define LINE_ROOM 65536u

/* Lines of a file that may have no end, and no end of a line either. */
struct lines {
    FILE *file;            /* NULL: none */
    uint64_t bytes_left;   /* that are read of it */
    char line[LINE_ROOM];  /* without its newline; what is longer is cut */
};

/* The next line; NULL at the end. */
static const char *next_line(struct lines *lines)
{
    size_t length = 0;
    int c = EOF, some = 0;
    while (lines->file && lines->bytes_left && (c = getc_unlocked(lines->file)) != EOF) {
        lines->bytes_left--;
        some = 1;
        if (c == '\n')
            break;
        if (length < LINE_ROOM - 1)
            lines->line[length++] = (char)c;
    }
    lines->line[length] = 0;
    return some ? lines->line : NULL;
}

void names_add_kernel(struct names *names)
{
    struct lines lines = {.file = fopen("/proc/kallsyms", "re"), .bytes_left = NAMES_BYTES_MAX};
    for (const char *line; (line = next_line(&lines)) != NULL;) {
        uint64_t address;
        char kind;
        int at = 0;
        if (sscanf(line, "%" SCNx64 " %c %n", &address, &kind, &at) < 2 || !at || address == 0 || !strchr("tTwW", kind))
            continue; /* addresses are 0 for those who may not see them */
        names_add(names, &(struct names_symbol){.start = address, .text = line + at, .room = strlen(line + at), .rank = kind == 'T' ? 2 : 1});
    }
    if (lines.file)
        fclose(lines.file);
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

int names_add_made(struct names *names, struct symbols_process *process)
{
    struct lines lines = {.file = open_made(process), .bytes_left = NAMES_BYTES_MAX};
    uint32_t number = 0;
    names->last_wins = 1;
    for (const char *line; (line = next_line(&lines)) != NULL;) {
        uint64_t start, size;
        int at = 0;
        number++; /* memory is used again: the last line of a place counts */
        if (sscanf(line, "%" SCNx64 " %" SCNx64 " %n", &start, &size, &at) < 2 || !at || size == 0)
            continue;
        if (line[at])
            names_add(names, &(struct names_symbol){.start = start, .size = size, .text = line + at, .room = strlen(line + at), .rank = number});
    }
    int is_cut = lines.file && !lines.bytes_left;
    if (lines.file)
        fclose(lines.file);
    return is_cut;
}
