/* What /proc tells of a process: its mappings, its root folder, the number that it calls itself. See state.h. */
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>
#include <linux/openat2.h>

#include "../base/clock.h"
#include "state.h"

/* Its root folder is kept open where it is not ours, so that files can be had after its end; and its own number, by which it
 * names the files that it writes. */
void space_begin(struct symbols_process *process)
{
    char path[64], ours[64], theirs[64];
    process->inner_pid = process->pid;
    snprintf(path, sizeof path, "/proc/%d/ns/mnt", (int)process->pid);
    ssize_t own = readlink("/proc/self/ns/mnt", ours, sizeof ours), other = readlink(path, theirs, sizeof theirs);
    if (own > 0 && other > 0 && (own != other || memcmp(ours, theirs, (size_t)own) != 0)) {
        snprintf(path, sizeof path, "/proc/%d/root", (int)process->pid);
        process->root = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    }
    snprintf(path, sizeof path, "/proc/%d/status", (int)process->pid);
    FILE *status = fopen(path, "re");
    char line[256];
    while (status && fgets(line, sizeof line, status))
        if (strncmp(line, "NSpid:", 6) == 0) {
            const char *last = line + 6;
            for (const char *c = line + 6; *c; c++)
                if (*c == '\t' || *c == ' ')
                    last = c;
            int pid = atoi(last);
            if (pid > 0)
                process->inner_pid = pid;
        }
    if (status)
        fclose(status);
}

/* One line of /proc/PID/maps; only what can be executed is of interest. */
static void take_line(struct symbols_process *process, char *line)
{
    uint64_t start, end, offset, inode;
    unsigned major_number, minor_number;
    char rights[8];
    int path_at = 0;
    if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %7s %" SCNx64 " %x:%x %" SCNu64 " %n", &start, &end, rights, &offset, &major_number,
               &minor_number, &inode, &path_at) < 7 || end <= start || strlen(rights) < 3 || rights[2] != 'x')
        return;
    line[strcspn(line, "\n")] = 0;
    struct symbols_mapping mapping = {.address = start, .bytes = end - start, .offset = offset, .inode = inode,
                                      .device = makedev(major_number, minor_number), .path = path_at ? line + path_at : ""};
    symbols_process_map(process, &mapping);
}

int symbols_process_look(struct symbols_process *process)
{
    char path[64], *line = NULL;
    size_t capacity = 0;
    process->looked_ns = clock_ns(CLOCK_MONOTONIC);
    if (process->is_gone)
        return -1;
    snprintf(path, sizeof path, "/proc/%d/maps", (int)process->pid);
    FILE *maps = fopen(path, "re");
    if (!maps)
        return -1;
    while (getline(&line, &capacity, maps) > 0)
        take_line(process, line);
    free(line);
    fclose(maps);
    return 0;
}

/* A path under a folder, whose links are followed as if the folder were the root. */
static int open_under(int root, const char *path)
{
    struct open_how how = {.flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK, .resolve = RESOLVE_IN_ROOT};
    return (int)syscall(SYS_openat2, root, path, &how, sizeof how);
}

int space_open(struct symbols_process *process, const char *path)
{
    char through[PATH_MAX];
    int file = -1;
    if (process->root >= 0)
        return open_under(process->root, path);
    if (!process->is_gone && snprintf(through, sizeof through, "/proc/%d/root%s", (int)process->pid, path) < (int)sizeof through)
        file = open(through, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    return file >= 0 ? file : open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
}
