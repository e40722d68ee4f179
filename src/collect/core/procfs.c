/* Reads /proc: see procfs.h. */
#include "procfs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "abi/seccomp_status.h"
#include "base/array.h"

#define FILE_MAX (4u << 20) /* no file of /proc that we read is larger in practice */

int procfs_read(const char *path, struct text *text)
{
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return -1;
    char buffer[16384];
    ssize_t got;
    while ((got = read(file, buffer, sizeof buffer)) > 0 && text->length < FILE_MAX)
        text_add_bytes(text, buffer, (size_t)got);
    close(file);
    return got < 0 || text_failed(text) ? -1 : 0;
}

static int read_of(pid_t pid, const char *name, struct text *text)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, name);
    return procfs_read(path, text);
}

int procfs_exe(pid_t pid, struct text *path)
{
    char link[64], target[4096];
    snprintf(link, sizeof link, "/proc/%d/exe", (int)pid);
    ssize_t length = readlink(link, target, sizeof target);
    if (length <= 0)
        return -1;
    text_add_bytes(path, target, (size_t)length);
    return 0;
}

void procfs_quote(struct text *text, const char *argument)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./=+:,@%^";
    if (*argument && argument[strspn(argument, plain)] == 0) {
        text_add(text, argument);
        return;
    }
    text_add_char(text, '\'');
    for (; *argument; argument++) {
        if (*argument == '\'')
            text_add(text, "'\\''");
        else
            text_add_char(text, *argument);
    }
    text_add_char(text, '\'');
}

int procfs_command(pid_t pid, struct text *command)
{
    struct text raw = { 0 };
    int failed = read_of(pid, "cmdline", &raw) != 0 || raw.length == 0;
    for (size_t at = 0; !failed && at < raw.length; at += strlen(raw.bytes + at) + 1) {
        if (at)
            text_add_char(command, ' ');
        procfs_quote(command, raw.bytes + at);
    }
    text_free(&raw);
    return failed ? -1 : 0;
}

int procfs_first_argument(pid_t pid, struct text *argument)
{
    struct text raw = { 0 };
    int failed = read_of(pid, "cmdline", &raw) != 0 || raw.length == 0;
    text_add(argument, text_string(&raw));
    text_free(&raw);
    return failed ? -1 : 0;
}

int procfs_environment(pid_t pid, struct text *block)
{
    if (read_of(pid, "environ", block) != 0 || block->length == 0)
        return -1;
    if (block->bytes[block->length - 1] != 0)
        text_add_char(block, 0);
    return text_failed(block) ? -1 : 0;
}

int procfs_name(pid_t pid, char *name, size_t size)
{
    struct text text = { 0 };
    int failed = read_of(pid, "comm", &text);
    size_t length = text.length && text.bytes[text.length - 1] == '\n' ? text.length - 1 : text.length;
    snprintf(name, size, "%.*s", failed ? 0 : (int)length, text_string(&text));
    text_free(&text);
    return failed;
}

int procfs_filters(pid_t pid)
{
    struct text status = { 0 };
    int failed = pid ? read_of(pid, "status", &status) : procfs_read(WIRE_SECCOMP_STATUS, &status);
    int filters = failed ? 0 : wire_seccomp_filters(text_string(&status));
    text_free(&status);
    return filters < 0 ? 0 : filters;
}

int procfs_withstands(pid_t pid, int signal)
{
    static const char *const sets[] = { "\nSigBlk:", "\nSigIgn:", "\nSigCgt:" };
    struct text status = { 0 };
    int withstands = 0;
    if (read_of(pid, "status", &status) == 0)
        for (size_t i = 0; i < COUNT_OF(sets); i++) {
            const char *set = strstr(text_string(&status), sets[i]);
            withstands |= set && strtoull(set + strlen(sets[i]), NULL, 16) >> (signal - 1) & 1;
        }
    text_free(&status);
    return withstands;
}

uint64_t procfs_address_space(void)
{
    struct text pages = { 0 };
    uint64_t count = procfs_read("/proc/self/statm", &pages) == 0 ? strtoull(text_string(&pages), NULL, 10) : 0;
    text_free(&pages);
    return count * (uint64_t)sysconf(_SC_PAGESIZE);
}

/* Parses "SigQ:\tWAITING/MOST" of /proc/PID/status. */
uint32_t procfs_spare_signals(pid_t pid)
{
    struct text status = { 0 };
    uint64_t waiting, most, spare = INT32_MAX;
    const char *line = read_of(pid, "status", &status) == 0 ? strstr(text_string(&status), "\nSigQ:") : NULL;
    if (line && sscanf(line, "\nSigQ: %" SCNu64 "/%" SCNu64, &waiting, &most) == 2)
        spare = waiting < most / 2 ? most / 2 - waiting : 0;
    text_free(&status);
    return spare < INT32_MAX ? (uint32_t)spare : INT32_MAX;
}

/* Parses /proc/PID/stat. The name in front of the wanted fields may contain anything, also brackets. */
static int read_stat(pid_t pid, struct procfs_stat *stat)
{
    enum { STATE = 3, PARENT = 4, USER_TIME = 14, SYSTEM_TIME = 15, START_TIME = 22 };
    struct text text = { 0 };
    const char *after = read_of(pid, "stat", &text) == 0 ? strrchr(text_string(&text), ')') : NULL;
    if (!after || after[1] != ' ') {
        text_free(&text);
        return -1;
    }
    *stat = (struct procfs_stat){ .pid = pid,
                                  .is_dead = after[2] == 'Z' || after[2] == 'X',
                                  .is_runnable = after[2] == 'R' };
    after += 2;
    for (int field = STATE; after; field++) {
        if (field == PARENT)
            stat->parent = (pid_t)strtol(after, NULL, 10);
        if (field == USER_TIME || field == SYSTEM_TIME)
            stat->cpu_ticks += strtoull(after, NULL, 10);
        if (field == START_TIME) {
            stat->start_time = strtoull(after, NULL, 10);
            break;
        }
        after = strchr(after, ' ');
        after = after ? after + 1 : NULL;
    }
    text_free(&text);
    return 0;
}

pid_t procfs_parent(pid_t pid)
{
    struct procfs_stat stat;
    return read_stat(pid, &stat) == 0 ? stat.parent : 0;
}

uint64_t procfs_start_time(pid_t pid)
{
    struct procfs_stat stat;
    return read_stat(pid, &stat) == 0 ? stat.start_time : 0;
}

int procfs_is_alive(pid_t pid, uint64_t start_time)
{
    struct procfs_stat stat;
    if (read_stat(pid, &stat) != 0) /* gone, or no descriptor is left to open the file */
        return kill(pid, 0) == 0 || errno == EPERM;
    return !stat.is_dead && (!start_time || start_time == stat.start_time);
}

int procfs_has_worked(pid_t pid, uint64_t *cpu_ticks)
{
    struct procfs_stat stat;
    if (read_stat(pid, &stat) != 0 || stat.is_dead)
        return 0;
    int has_worked = stat.is_runnable || stat.cpu_ticks > *cpu_ticks;
    *cpu_ticks = stat.cpu_ticks;
    return has_worked;
}

/* ---- The tree -------------------------------------------------------------------------------------------------- */

static struct procfs_tree procfs_read_all(void)
{
    struct procfs_tree all = { 0 };
    size_t capacity = 0;
    DIR *folder = opendir("/proc");
    for (struct dirent *entry; folder && (entry = readdir(folder)) != NULL;) {
        pid_t pid = (pid_t)strtol(entry->d_name, NULL, 10); /* 0 for names that are no number */
        if (array_reserve(&all.list, &capacity, all.count + 1, sizeof *all.list) != 0)
            break;
        if (pid > 0 && read_stat(pid, &all.list[all.count]) == 0)
            all.count++;
    }
    if (folder)
        closedir(folder);
    return all;
}

static const struct procfs_stat *find_pid(const struct procfs_stat *list, size_t count, pid_t pid)
{
    for (size_t i = 0; i < count; i++)
        if (list[i].pid == pid)
            return &list[i];
    return NULL;
}

static int is_stranger(const struct procfs_tree *strangers, const struct procfs_stat *stat)
{
    const struct procfs_stat *same = find_pid(strangers->list, strangers->count, stat->pid);
    return same && same->start_time == stat->start_time;
}

struct procfs_tree procfs_descendants(pid_t ancestor, const struct procfs_tree *strangers)
{
    struct procfs_tree all = procfs_read_all();
    size_t found = 0, before;
    do { /* each pass finds one generation; all found so far are at the front */
        before = found;
        for (size_t i = found; i < all.count; i++) {
            struct procfs_stat stat = all.list[i];
            if (stat.parent == ancestor ? is_stranger(strangers, &stat) : !find_pid(all.list, before, stat.parent))
                continue;
            all.list[i] = all.list[found];
            all.list[found++] = stat;
        }
    } while (found > before);
    all.count = found;
    return all;
}
