/* The shapes that a process tree can take, one per argument, for tree.py. Each prints what it did (process and thread
 * numbers, names, statuses) on stdout, a line each, so that the report has an independent truth to be compared with. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static void say(const char *what, long first, long second, const char *text)
{
    char line[512];
    int length = snprintf(line, sizeof line, "%s %ld %ld %s\n", what, first, second, text);
    if (write(STDOUT_FILENO, line, (size_t)length) != length)
        abort();
}

static void must(int ok, const char *what)
{
    if (!ok) {
        perror(what);
        _exit(99);
    }
}

static void wait_and_say(pid_t pid, const char *what)
{
    int status;
    must(waitpid(pid, &status, 0) == pid, "waitpid");
    if (WIFEXITED(status))
        say("exit", pid, WEXITSTATUS(status), what);
    else
        say("signal", pid, WTERMSIG(status), what);
}

/* ---- Threads --------------------------------------------------------------------------------------------------- */

#define THREADS 5

struct worker {
    pthread_t thread;
    int number;
};
static pthread_barrier_t named, renamed;

/* Odd ones name themselves; even ones are named by the main thread while they wait. */
static void *work(void *argument)
{
    struct worker *worker = argument;
    char name[16];
    snprintf(name, sizeof name, "own-%d", worker->number);
    if (worker->number % 2)
        pthread_setname_np(pthread_self(), name);
    pthread_barrier_wait(&named);
    pthread_barrier_wait(&renamed);
    pthread_getname_np(pthread_self(), name, sizeof name);
    say("thread", getpid(), syscall(SYS_gettid), name);
    return NULL;
}

static int threads(char **arguments)
{
    struct worker workers[THREADS];
    pthread_barrier_init(&named, NULL, THREADS + 1);
    pthread_barrier_init(&renamed, NULL, THREADS + 1);
    for (int i = 0; i < THREADS; i++) {
        workers[i].number = i;
        must(pthread_create(&workers[i].thread, NULL, work, &workers[i]) == 0, "pthread_create");
    }
    pthread_barrier_wait(&named);
    for (int i = 0; i < THREADS; i += 2) {
        char name[16];
        snprintf(name, sizeof name, "given-%d", i);
        pthread_setname_np(workers[i].thread, name);
    }
    pthread_barrier_wait(&renamed);
    for (int i = 0; i < THREADS; i++)
        pthread_join(workers[i].thread, NULL);
    prctl(PR_SET_NAME, "conductor");
    say("thread", getpid(), syscall(SYS_gettid), "conductor");
    return 0;
}

/* ---- Children -------------------------------------------------------------------------------------------------- */

static int forks(char **arguments)
{
    for (int i = 0; i < 3; i++) {
        pid_t pid = fork();
        if (pid == 0) {
            if (i == 2)
                raise(SIGTERM);
            i == 0 ? exit(3) : _exit(4);
        }
        wait_and_say(pid, "fork");
    }
    return 0;
}

static int vforks(char **arguments)
{
    char *child[] = { "tree", "leaf", "5", NULL };
    pid_t pid = vfork();
    if (pid == 0) {
        execv("/proc/self/exe", child);
        _exit(98);
    }
    wait_and_say(pid, "vfork");
    pid = vfork();
    if (pid == 0) {
        execv("/nonexistent", child);
        _exit(6);
    }
    wait_and_say(pid, "failed");
    return 0;
}

static int spawns(char **arguments)
{
    char *child[] = { "tree", "leaf", "7", NULL };
    pid_t pid;
    must(posix_spawn(&pid, "/proc/self/exe", NULL, NULL, child, environ) == 0, "posix_spawn");
    wait_and_say(pid, "spawn");
    int error = posix_spawn(&pid, "/nonexistent", NULL, NULL, child, environ);
    say("error", error, 0, "spawn");
    return 0;
}

/* So many, one after the other; they say nothing, the sooner to be gone. */
static int spawns_many(char **arguments)
{
    char *child[] = { "tree", "silent", NULL };
    for (int i = atoi(arguments[0]); i > 0; i--) {
        pid_t pid;
        int status;
        must(posix_spawn(&pid, "/proc/self/exe", NULL, NULL, child, environ) == 0, "posix_spawn");
        must(waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 7, "waitpid");
    }
    return 0;
}

static int is_silent(char **arguments)
{
    return 7;
}

static int leaf(char **arguments)
{
    say("leaf", getpid(), getppid(), arguments[0]);
    return atoi(arguments[0]);
}

/* A program for another, in the same process, so many times. */
static int chain(char **arguments)
{
    int left = atoi(arguments[0]);
    say("link", getpid(), left, "");
    if (left == 0)
        return 8;
    char number[16];
    snprintf(number, sizeof number, "%d", left - 1);
    execl("/proc/self/exe", "tree", "chain", number, NULL);
    return 98;
}

static int run(char **arguments)
{
    execv(arguments[0], arguments);
    return 98;
}

/* The program given, with no environment at all. */
static int clean(char **arguments)
{
    char *nothing[] = { NULL };
    pid_t pid = fork();
    if (pid == 0) {
        execve(arguments[0], arguments, nothing);
        _exit(98);
    }
    wait_and_say(pid, "clean");
    return 0;
}

/* Ends, as daemons do, only after all its ancestors here have gone: the pipe then has no writer left. */
static int daemons(char **arguments)
{
    int ends[2];
    must(pipe(ends) == 0, "pipe");
    pid_t pid = fork();
    if (pid == 0) {
        setsid();
        if (fork() != 0)
            _exit(0);
        char byte;
        close(ends[1]);
        while (read(ends[0], &byte, 1) < 0 && errno == EINTR)
            ;
        prctl(PR_SET_NAME, "demon");
        say("daemon", getpid(), getppid(), "");
        int done = open(arguments[0], O_WRONLY | O_CREAT, 0600);
        must(done >= 0, arguments[0]);
        close(done);
        _exit(9);
    }
    wait_and_say(pid, "between");
    return 0;
}

/* ---- Endings --------------------------------------------------------------------------------------------------- */

static void *end_all(void *argument)
{
    exit(11);
}

static int ends(char **arguments)
{
    const char *how = arguments[0];
    say("ends", getpid(), 0, how);
    if (!strcmp(how, "exit"))
        exit(10);
    if (!strcmp(how, "thread")) {
        pthread_t thread;
        pthread_create(&thread, NULL, end_all, NULL);
        pthread_join(thread, NULL);
    }
    if (!strcmp(how, "raw"))
        syscall(SYS_exit_group, 12);
    if (!strcmp(how, "quick"))
        quick_exit(13);
    if (!strcmp(how, "abort"))
        abort();
    if (!strcmp(how, "kill"))
        kill(getpid(), SIGKILL);
    return 14;
}

/* ---- Shared objects -------------------------------------------------------------------------------------------- */

static int loads(char **arguments)
{
    void *first = dlopen(arguments[0], RTLD_NOW);
    void *second = dlopen(arguments[1], RTLD_NOW);
    must(first && second, dlerror());
    int (*answer)(void) = (int (*)(void))dlsym(first, "answer");
    say("answer", answer(), 0, "");
    dlclose(first);
    return 0;
}

/* Stands before libc's: once the shared object that it loads is in the list, the thread stays here, as one does that is
 * interrupted; not before it has been here so often. */
static _Thread_local const char *awaited;
static int passes;
static _Atomic int is_in_list, may_leave;

static int is_awaited(struct dl_phdr_info *info, size_t size, void *name)
{
    return info->dlpi_name && strstr(info->dlpi_name, name);
}

int dl_iterate_phdr(int (*visit)(struct dl_phdr_info *, size_t, void *), void *context)
{
    static int (*real)(int (*)(struct dl_phdr_info *, size_t, void *), void *);
    if (!real)
        real = (int (*)(int (*)(struct dl_phdr_info *, size_t, void *), void *))dlsym(RTLD_NEXT, "dl_iterate_phdr");
    if (awaited && real(is_awaited, (void *)awaited) && passes-- == 0)
        is_in_list = 1;
    while (awaited && is_in_list && !may_leave)
        syscall(SYS_sched_yield);
    return real(visit, context);
}

static void *load(void *path)
{
    awaited = path;
    must(dlopen(path, RTLD_NOW) != NULL, dlerror());
    must(is_in_list, "nobody looked at the list so often");
    return NULL;
}

/* Forks while another thread looks through the list of shared objects for the one that it has loaded. */
static int forks_amid_a_load(char **arguments)
{
    pthread_t thread;
    passes = arguments[2] ? atoi(arguments[2]) : 0;
    must(pthread_create(&thread, NULL, load, arguments[0]) == 0, "pthread_create");
    while (!is_in_list)
        syscall(SYS_sched_yield);
    pid_t child = fork();
    must(child >= 0, "fork");
    may_leave = 1;
    if (child == 0) {
        dlopen(arguments[1], RTLD_NOW);
        _exit(0);
    }
    pthread_join(thread, NULL);
    wait_and_say(child, "child");
    return 0;
}

static const struct shape {
    const char *name;
    int (*run)(char **arguments);
} shapes[] = {
    { "threads", threads },  { "fork", forks },
    { "vfork", vforks },     { "spawn", spawns },
    { "leaf", leaf },        { "spawn-many", spawns_many },
    { "silent", is_silent }, { "chain", chain },
    { "run", run },          { "clean", clean },
    { "daemon", daemons },   { "ends", ends },
    { "loads", loads },      { "forks-amid-a-load", forks_amid_a_load },
};

int main(int argc, char **argv)
{
    for (size_t i = 0; argc > 1 && i < sizeof shapes / sizeof *shapes; i++)
        if (!strcmp(argv[1], shapes[i].name))
            return shapes[i].run(argv + 2);
    return 97;
}
