/* Reads /proc/kallsyms and perf maps: see runtime_names.h. Both are lines of untrusted text. */
#include "runtime_names.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "proc_maps.h"
#include "symbols_state.h"

#define LINE_ROOM 65536u

/* Lines of a file that may be endless, and may have endless lines. */
struct lines {
    FILE *file;           /* NULL: none */
    uint64_t bytes_left;  /* limit of the bytes to read */
    char line[LINE_ROOM]; /* without its newline; longer lines are truncated */
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

/* Parses hexadecimal digits and the blanks behind them; 0 if there are none. sscanf() is too slow for a hundred
 * thousand lines. */
static int take_number(const char **at, uint64_t *number)
{
    char *end;
    *number = strtoull(*at, &end, 16);
    if (end == *at || *end != ' ')
        return 0;
    *at = end + strspn(end, " ");
    return 1;
}

void names_add_kernel(struct symbol_names *names)
{
    struct lines lines = { .file = fopen("/proc/kallsyms", "re"), .bytes_left = NAMES_BYTES_MAX };
    for (const char *at; (at = next_line(&lines)) != NULL;) {
        uint64_t address;
        if (!take_number(&at, &address) || address == 0 || !*at || !strchr("tTwW", *at) || at[1] != ' ')
            continue; /* addresses are 0 without the privilege to see them */
        const char *name = at + 1 + strspn(at + 1, " ");
        symbol_names_add(names, &(struct symbol_names_entry){
                                    .start = address, .text = name, .room = strlen(name), .rank = *at == 'T' ? 2 : 1 });
    }
    if (lines.file)
        fclose(lines.file);
}

/* The file's name has the pid in the process's own namespace, and it is in the process's own /tmp. Anyone can create
 * such a file there. As in perf, only files of root, of us and of the process's own user are trusted. */
static int is_trusted(const struct symbols_process *process, const struct stat *status)
{
    return S_ISREG(status->st_mode) &&
           (status->st_uid == 0 || status->st_uid == geteuid() || status->st_uid == process->user);
}

static FILE *open_made(struct symbols_process *process)
{
    char path[64];
    snprintf(path, sizeof path, "/tmp/perf-%d.map", (int)process->inner_pid);
    int descriptor = proc_maps_open(process, path, O_NOFOLLOW);
    struct stat status;
    if (descriptor >= 0 && (fstat(descriptor, &status) != 0 || !is_trusted(process, &status))) {
        close(descriptor);
        return NULL;
    }
    FILE *file = descriptor >= 0 ? fdopen(descriptor, "r") : NULL;
    if (!file && descriptor >= 0)
        close(descriptor);
    return file;
}

int names_add_made(struct symbol_names *names, struct symbols_process *process)
{
    struct lines lines = { .file = open_made(process), .bytes_left = NAMES_BYTES_MAX };
    uint32_t number = 0;
    names->last_wins = 1;
    for (const char *at; (at = next_line(&lines)) != NULL;) {
        uint64_t start, size;
        number++; /* memory is reused: the last line of an address is valid */
        if (take_number(&at, &start) && take_number(&at, &size) && size && *at)
            symbol_names_add(names, &(struct symbol_names_entry){
                                        .start = start, .size = size, .text = at, .room = strlen(at), .rank = number });
    }
    int is_cut = lines.file && !lines.bytes_left;
    if (lines.file)
        fclose(lines.file);
    return is_cut;
}
