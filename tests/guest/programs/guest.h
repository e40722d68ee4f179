/* What the tiny programs of this ring share. A program is a function that says what it sees of itself; then
 * main() says what everybody sees (descriptors, threads, signals, limits, …). The harness runs it bare and
 * profiled and compares the lines, so nothing that differs between two bare runs may be said: relations, not
 * process ids; classes, not times.
 *
 *     PROGRAM(epoll) { …; say("ready %d", count); return 0; }
 *
 * The value is the exit status. A program that cannot run here says "skipped: why" and returns SKIPPED. */
#ifndef TACHO_TESTS_GUEST_H
#define TACHO_TESTS_GUEST_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define SKIPPED 77

struct guest_program {
    const char *name;
    int (*run)(void);
};

#define PROGRAM(title)                                                                                                 \
    static int title(void);                                                                                            \
    static const struct guest_program guest_##title __attribute__((used, section("guest_programs"),                    \
                                                                   aligned(sizeof(void *)))) = { #title, title };      \
    static int title(void)

extern const struct guest_program __start_guest_programs[], __stop_guest_programs[];
extern char **environ;
static char **arguments;                                           /* of main(), from the program's name on */
static pid_t first_parent;
__attribute__((unused)) static void *volatile nowhere = (void *)8; /* an address that no call can use */

/* One line, written at once: children, handlers and threads may speak. */
__attribute__((format(printf, 1, 2))) static void say(const char *format, ...)
{
    char line[1024];
    va_list rest;
    va_start(rest, format);
    int length = vsnprintf(line, sizeof line - 1, format, rest);
    va_end(rest);
    if (length < 0)
        return;
    if (length > (int)sizeof line - 2)
        length = (int)sizeof line - 2;
    line[length++] = '\n';
    if (write(1, line, (size_t)length) < 0)
        return; /* a program that has closed it is not heard */
}

/* What a call answered: its value, or its error. */
__attribute__((unused)) static void say_result(const char *call, long value)
{
    if (value < 0)
        say("%s: errno %d", call, errno);
    else
        say("%s: %ld", call, value);
}

__attribute__((unused)) static void say_status(const char *who, int status)
{
    if (WIFEXITED(status))
        say("%s exited %d", who, WEXITSTATUS(status));
    else if (WIFSIGNALED(status))
        say("%s killed by %d", who, WTERMSIG(status));
    else
        say("%s status %#x", who, (unsigned)status);
}

__attribute__((unused)) static void say_child(const char *who, pid_t child)
{
    int status = 0;
    pid_t waited;
    while ((waited = waitpid(child, &status, 0)) < 0 && errno == EINTR)
        ;
    if (waited == child)
        say_status(who, status);
    else
        say("%s: waitpid: errno %d", who, errno);
}

/* Runs a function in a child, whose exit status it returns. */
__attribute__((unused)) static void in_child(const char *who, int (*run)(void))
{
    pid_t child = fork();
    if (child == 0)
        _exit(run());
    if (child < 0)
        say("%s: fork: errno %d", who, errno);
    else
        say_child(who, child);
}

/* A thread that lives from before the program's own deed to its end. */
__attribute__((unused)) static void *wait_for_end(void *pipe_end)
{
    char byte;
    while (read((int)(intptr_t)pipe_end, &byte, 1) < 0 && errno == EINTR)
        ;
    return NULL;
}

__attribute__((unused)) static int skipped(const char *why)
{
    say("skipped: %s", why);
    return SKIPPED;
}

/* ---- What everybody sees --------------------------------------------------------------------------------------- */

static const char *kind_of(mode_t mode)
{
    return S_ISREG(mode)    ? "file"
           : S_ISCHR(mode)  ? "device"
           : S_ISFIFO(mode) ? "pipe"
           : S_ISSOCK(mode) ? "socket"
           : S_ISDIR(mode)  ? "folder"
                            : "other";
}

static void state_descriptors(void)
{
    DIR *folder = opendir("/proc/self/fd");
    for (struct dirent *entry; folder && (entry = readdir(folder));) {
        int number = atoi(entry->d_name);
        struct stat about;
        if (entry->d_name[0] != '.' && number != dirfd(folder) && fstat(number, &about) == 0)
            say("descriptor %d: %s, flags %d %#o", number, kind_of(about.st_mode), fcntl(number, F_GETFD),
                fcntl(number, F_GETFL));
    }
    if (folder)
        closedir(folder);
}

/* Whether the kernel has begun to take it apart: one that was joined may still be listed. */
static int is_exiting(const char *thread)
{
    enum { PF_EXITING = 4 };
    char path[300], text[512] = "";
    unsigned flags = PF_EXITING; /* a thread that is gone by now */
    snprintf(path, sizeof path, "/proc/self/task/%s/stat", thread);
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file >= 0 && read(file, text, sizeof text - 1) > 0 && strrchr(text, ')'))
        sscanf(strrchr(text, ')'), ") %*c %*d %*d %*d %*d %*d %u", &flags);
    if (file >= 0)
        close(file);
    return (flags & PF_EXITING) != 0;
}

static void state_threads(void)
{
    int count = 0;
    DIR *folder = opendir("/proc/self/task");
    for (struct dirent *entry; folder && (entry = readdir(folder));)
        count += entry->d_name[0] != '.' && !is_exiting(entry->d_name);
    if (folder)
        closedir(folder);
    say("threads %d", count);
}

static void state_status(void)
{
    static const char *const wanted[] = { "Umask:",  "TracerPid:", "Uid:",        "Gid:",     "Groups:",
                                          "VmLck:",  "VmPin:",     "SigPnd:",     "ShdPnd:",  "SigBlk:",
                                          "SigIgn:", "SigCgt:",    "CapInh:",     "CapPrm:",  "CapEff:",
                                          "CapBnd:", "CapAmb:",    "NoNewPrivs:", "Seccomp:", "Seccomp_filters:" };
    FILE *file = fopen("/proc/self/status", "re");
    char line[4096];
    while (file && fgets(line, sizeof line, file))
        for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++)
            if (strncmp(line, wanted[i], strlen(wanted[i])) == 0)
                say("status %.*s", (int)strcspn(line, "\n"), line);
    if (file)
        fclose(file);
}

static void state_limits(void)
{
    for (int i = 0; i < RLIM_NLIMITS; i++) {
        struct rlimit limit;
        if (getrlimit((__rlimit_resource_t)i, &limit) == 0)
            say("limit %d: %llx %llx", i, (unsigned long long)limit.rlim_cur, (unsigned long long)limit.rlim_max);
    }
}

static void state_signals(void)
{
    for (int i = 1; i < NSIG; i++) {
        struct sigaction action;
        if (sigaction(i, NULL, &action) == 0 && (action.sa_handler != SIG_DFL || action.sa_flags))
            say("signal %d: %s, flags %#x", i,
                action.sa_handler == SIG_IGN   ? "ignored"
                : action.sa_handler == SIG_DFL ? "default"
                                               : "handled",
                (unsigned)action.sa_flags);
    }
    stack_t stack;
    if (sigaltstack(NULL, &stack) == 0)
        say("alternate stack %#x, %zu", (unsigned)stack.ss_flags, stack.ss_size);
    static const int timers[] = { ITIMER_REAL, ITIMER_VIRTUAL, ITIMER_PROF };
    for (int i = 0; i < 3; i++) {
        struct itimerval value;
        if (getitimer((__itimer_which_t)timers[i], &value) == 0)
            say("timer %d: %s", i, value.it_value.tv_sec || value.it_value.tv_usec ? "armed" : "none");
    }
}

static void state_family(void)
{
    int status;
    say("parent %s", getppid() == first_parent ? "as before" : "another");
    pid_t child = waitpid(-1, &status, WNOHANG);
    say("children %s", child < 0 && errno == ECHILD ? "none" : child < 0 ? "unknown" : "some");
    say("leads its group %d, its session %d", getpgrp() == getpid(), getsid(0) == getpid());
}

static void state_controls(void)
{
    int signal_number = -1, subreaper = -1;
    char name[17] = "";
    prctl(PR_GET_PDEATHSIG, &signal_number);
    prctl(PR_GET_CHILD_SUBREAPER, &subreaper);
    prctl(PR_GET_NAME, name);
    say("dumpable %d, death signal %d, subreaper %d, keeps capabilities %d, name %s", prctl(PR_GET_DUMPABLE),
        signal_number, subreaper, prctl(PR_GET_KEEPCAPS), name);
    errno = 0;
    say("nice %d, policy %d, slack %d", getpriority(PRIO_PROCESS, 0), sched_getscheduler(0), prctl(PR_GET_TIMERSLACK));
    cpu_set_t processors;
    CPU_ZERO(&processors);
    sched_getaffinity(0, sizeof processors, &processors);
    say("processors %d", CPU_COUNT(&processors));
    char folder[PATH_MAX] = "";
    say("folder %s", getcwd(folder, sizeof folder) ? folder : "none");
}

__attribute__((unused)) static void state_environment(void)
{
    for (char **variable = environ; variable && *variable; variable++)
        say("environment %s", *variable);
    char path[PATH_MAX] = "";
    if (readlink("/proc/self/exe", path, sizeof path - 1) > 0)
        say("executable %s", path);
    say("secure %lu", getauxval(AT_SECURE));
}

static void say_state(void)
{
    state_descriptors();
    state_threads();
    state_status();
    state_limits();
    state_signals();
    state_family();
    state_controls();
}

/* The name of a program; "list" prints those that there are. */
int main(int argc, char **argv)
{
    if (errno)
        say("errno %d at the start", errno);
    first_parent = getppid();
    arguments = argv + (argc > 1);
    for (const struct guest_program *program = __start_guest_programs; program < __stop_guest_programs; program++) {
        if (argc > 1 && strcmp(argv[1], "list") == 0)
            say("%s", program->name);
        if (argc > 1 && strcmp(argv[1], program->name) == 0) {
            int status = program->run();
            if (status != SKIPPED)
                say_state();
            return status;
        }
    }
    return argc > 1 && strcmp(argv[1], "list") == 0 ? 0 : 2;
}

#endif
