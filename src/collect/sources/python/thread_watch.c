/* The kernel's view of a thread: see thread_watch.h. */
#include "thread_watch.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "collect/core/procfs.h"

static int thread_watch_open_of(pid_t pid, pid_t tid, const char *name)
{
    char path[80];
    snprintf(path, sizeof path, "/proc/%d/task/%d/%s", (int)pid, (int)tid, name);
    return open(path, O_RDONLY | O_CLOEXEC);
}

/* Reads the file from its start; the text ends with a zero. */
static ssize_t read_again(int file, char *text, size_t size)
{
    ssize_t got = file < 0 ? -1 : pread(file, text, size - 1, 0);
    text[got > 0 ? got : 0] = 0;
    return got;
}

void thread_watch_open(struct thread_watch *watch, pid_t pid, pid_t tid)
{
    char text[256];
    *watch = (struct thread_watch){
        .state_file = thread_watch_open_of(pid, tid, "syscall"),
        .slices_file = thread_watch_open_of(pid, tid, "schedstat"),
        .is_syscall = 1,
    };
    if (read_again(watch->state_file, text, sizeof text) > 0)
        return;
    if (watch->state_file >= 0)
        close(watch->state_file);
    watch->state_file = thread_watch_open_of(pid, tid, "stat");
    watch->is_syscall = 0;
}

void thread_watch_close(struct thread_watch *watch)
{
    if (watch->state_file >= 0)
        close(watch->state_file);
    if (watch->slices_file >= 0)
        close(watch->slices_file);
    watch->state_file = watch->slices_file = -1;
}

int thread_watch_state(const struct thread_watch *watch, uint64_t *address)
{
    char text[512];
    *address = 0;
    if (read_again(watch->state_file, text, sizeof text) <= 0)
        return THREAD_UNKNOWN;
    if (!watch->is_syscall) { /* the state follows the name, which may contain anything */
        const char *end = strrchr(text, ')');
        return !end || end[1] != ' ' ? THREAD_UNKNOWN : end[2] == 'R' ? THREAD_RUNNING : THREAD_WAITING;
    }
    if (text[0] == 'r')
        return THREAD_RUNNING;
    char *arguments;
    if (strtol(text, &arguments, 10) == SYS_futex)
        *address = strtoull(arguments, NULL, 16);
    return THREAD_WAITING;
}

uint64_t thread_watch_slices(const struct thread_watch *watch)
{
    char text[128];
    if (read_again(watch->slices_file, text, sizeof text) <= 0)
        return 0;
    const char *last = strrchr(text, ' ');
    return last ? strtoull(last + 1, NULL, 10) : 0;
}

static int is_thread(pid_t pid, pid_t tid)
{
    char path[80];
    struct stat status;
    snprintf(path, sizeof path, "/proc/%d/task/%d", (int)pid, (int)tid);
    return stat(path, &status) == 0;
}

/* The id of a thread in its innermost pid namespace; 0: unknown. */
static pid_t inner_number(pid_t pid, pid_t tid)
{
    char path[80];
    struct text status = { 0 };
    snprintf(path, sizeof path, "/proc/%d/task/%d/status", (int)pid, (int)tid);
    const char *line = procfs_read(path, &status) == 0 ? strstr(text_string(&status), "\nNSpid:") : NULL;
    const char *last = line ? line + 8 : NULL;
    pid_t number = 0;
    for (char *end; last; last = end) {
        long value = strtol(last, &end, 10);
        if (end == last)
            break;
        number = (pid_t)value;
        if (*end == '\n')
            break;
    }
    text_free(&status);
    return number;
}

pid_t thread_of_native(pid_t pid, pid_t native)
{
    if (is_thread(pid, native))
        return native;
    if (inner_number(pid, pid) == pid) /* no namespace of its own, so there is no such thread */
        return 0;
    char path[64];
    pid_t found = 0;
    snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
    DIR *tasks = opendir(path);
    for (struct dirent *entry; tasks && !found && (entry = readdir(tasks)) != NULL;) {
        pid_t tid = (pid_t)strtol(entry->d_name, NULL, 10);
        if (tid > 0 && inner_number(pid, tid) == native)
            found = tid;
    }
    if (tasks)
        closedir(tasks);
    return found;
}

pid_t thread_of_pthread(pid_t pid, const unsigned char *bytes, size_t size)
{
    for (size_t at = 0; at + 4 <= size; at += 4) {
        int32_t number;
        memcpy(&number, bytes + at, sizeof number);
        /* A thread's id is at least that of its process, unless ids have wrapped around. */
        if (number >= pid && is_thread(pid, number))
            return number;
    }
    return 0;
}
