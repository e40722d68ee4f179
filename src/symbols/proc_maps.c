/* Reads /proc for a process: its mappings, its root folder, and its pid in its own namespace. See proc_maps.h. */
#include "proc_maps.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/clock.h"
#include "symbols_state.h"

/* Files in /proc belong to the user that the process runs as; to root if it may not be inspected. */
static void proc_maps_note_user(struct symbols_process *process, FILE *file)
{
    struct stat status;
    if (file && fstat(fileno(file), &status) == 0)
        process->user = status.st_uid;
}

/* Keeps the process's root folder open if it is not ours, so that its files can be read after its end, and its own
 * pid, by which it names the files that it writes. */
void proc_maps_begin(struct symbols_process *process)
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
    proc_maps_note_user(process, status);
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

/* Parses one line of /proc/PID/maps; only executable mappings matter. */
static void proc_maps_take_line(struct symbols_process *process, char *line)
{
    uint64_t start, end, offset, inode;
    unsigned major_number, minor_number;
    char rights[8];
    int path_at = 0;
    if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %7s %" SCNx64 " %x:%x %" SCNu64 " %n", &start, &end, rights, &offset,
               &major_number, &minor_number, &inode, &path_at) < 7 ||
        end <= start || strlen(rights) < 3 || rights[2] != 'x')
        return;
    line[strcspn(line, "\n")] = 0;
    struct symbols_mapping mapping = {
        .address = start,
        .bytes = end - start,
        .offset = offset,
        .inode = inode,
        .device = makedev(major_number, minor_number),
        .path = path_at ? line + path_at : "",
    };
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
    proc_maps_note_user(process, maps);
    while (getline(&line, &capacity, maps) > 0)
        proc_maps_take_line(process, line);
    free(line);
    fclose(maps);
    return 0;
}

static int mentions(const struct symbols_process *process, const char *file, const char *option)
{
    char path[64], *text = NULL;
    size_t capacity = 0;
    ssize_t length;
    int found = 0;
    snprintf(path, sizeof path, "/proc/%d/%s", (int)process->pid, file);
    FILE *from = fopen(path, "re");
    while (from && !found && (length = getdelim(&text, &capacity, 0, from)) > 0)
        found = memmem(text, (size_t)length, option, strlen(option)) != NULL;
    free(text);
    if (from)
        fclose(from);
    return found;
}

int proc_maps_names_at_exit(struct symbols_process *process)
{
    static const char option[] = "+DumpPerfMapAtExit"; /* of the Java virtual machine */
    if (process->is_gone)
        return 0;
    if (process->exit_names == EXIT_NAMES_UNKNOWN)
        process->exit_names = mentions(process, "cmdline", option) || mentions(process, "environ", option)
                                  ? EXIT_NAMES_YES
                                  : EXIT_NAMES_NO;
    return process->exit_names == EXIT_NAMES_YES;
}

/* ---- Files under another root ---------------------------------------------------------------------------------- */

/* Opens a path without links, directory by directory, so that a directory that becomes a link meanwhile cannot
 * redirect us. */
static int open_plain(int root, char *path, int flags)
{
    char *rest = NULL, *name = strtok_r(path, "/", &rest), *next;
    int folder = root;
    for (; name && (next = strtok_r(NULL, "/", &rest)) != NULL; name = next) {
        int inner = openat(folder, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (folder != root)
            close(folder);
        if (inner < 0)
            return -1;
        folder = inner;
    }
    int file = openat(folder, name ? name : ".", flags | O_NOFOLLOW);
    if (folder != root)
        close(folder);
    return file;
}

/* Moves the first name of `rest` to the end of `plain`; if it is a link, replaces it by its target: 0, or -1 and
 * errno. */
static int proc_maps_take_name(int root, char *plain, char *rest, int follow_last, int *links_left)
{
    char name[NAME_MAX + 1], target[PATH_MAX], joined[PATH_MAX];
    size_t length = strcspn(rest, "/"), before = strlen(plain);
    const char *behind = rest + length + strspn(rest + length, "/");
    if (length > NAME_MAX || before + length + 2 > PATH_MAX) {
        errno = ENAMETOOLONG;
        return -1;
    }
    memcpy(name, rest, length);
    name[length] = 0;
    snprintf(plain + before, PATH_MAX - before, "%s%s", before ? "/" : "", name);
    ssize_t linked = *behind || follow_last ? readlinkat(root, plain, target, sizeof target - 1) : -1;
    if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0 || linked >= 0)
        plain[before] = 0;
    if (strcmp(name, "..") == 0) {
        char *last = strrchr(plain, '/');
        *(last ? last : plain) = 0;
    }
    target[linked > 0 ? linked : 0] = 0;
    if (*target == '/')
        *plain = 0;
    if (linked >= 0 && --*links_left == 0) {
        errno = ELOOP;
        return -1;
    }
    int joined_length = snprintf(joined, sizeof joined, "%s%s%s", target, linked > 0 ? "/" : "", behind);
    if (joined_length >= (int)sizeof joined) {
        errno = ENAMETOOLONG;
        return -1;
    }
    memmove(rest, joined + strspn(joined, "/"), strlen(joined + strspn(joined, "/")) + 1);
    return 0;
}

/* For kernels before 5.6, which lack openat2(). */
static int open_step_by_step(int root, const char *path, int flags)
{
    char plain[PATH_MAX] = "", rest[PATH_MAX];
    int links_left = 40;
    path += strspn(path, "/");
    if (snprintf(rest, sizeof rest, "%s", path) >= (int)sizeof rest) {
        errno = ENAMETOOLONG;
        return -1;
    }
    while (*rest)
        if (proc_maps_take_name(root, plain, rest, !(flags & O_NOFOLLOW), &links_left) != 0)
            return -1;
    return open_plain(root, plain, flags);
}

/* Opens a path under a directory; links are followed as if the directory were the root. */
static int open_under(int root, const char *path, int flags)
{
    struct open_how how = { .flags = (uint64_t)flags, .resolve = RESOLVE_IN_ROOT };
    int file = (int)syscall(SYS_openat2, root, path, &how, sizeof how);
    return file < 0 && errno == ENOSYS ? open_step_by_step(root, path, flags) : file;
}

int proc_maps_open(const struct symbols_process *process, const char *path, int more_flags)
{
    char through[PATH_MAX];
    int file = -1, flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | more_flags;
    if (process->root >= 0)
        return open_under(process->root, path, flags);
    if (!process->is_gone &&
        snprintf(through, sizeof through, "/proc/%d/root%s", (int)process->pid, path) < (int)sizeof through)
        file = open(through, flags);
    return file >= 0 ? file : open(path, flags);
}
