/* Calls made where there is little room: on the stack of a coroutine, and in a handler on an alternate stack.
 *
 *   small_stacks depths       prints "NAME BYTES" for each call: how deep the coroutine's stack was used
 *   small_stacks handler      a handler of SIGSEGV on 4 KiB syncs, sleeps and ends the program with status 5
 *
 * Each call is made once on the main stack before, so that lazy binding and first times are not counted. */
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include "nvtx_client.h"

enum { GUARD_BYTES = 65536, STACK_BYTES = 2 * GUARD_BYTES, PAINT = 0xa5, STATUS = 5 };

static _Alignas(GUARD_BYTES) unsigned char stack[STACK_BYTES];
static int file;
static char byte;

static int used(void)
{
    int clean = 0;
    while (clean < STACK_BYTES && stack[clean] == PAINT)
        clean++;
    return STACK_BYTES - clean;
}

/* ---- The calls ------------------------------------------------------------------------------------------------- */

static void do_read(void)
{
    if (pread(file, &byte, 1, 0) != 1)
        abort();
}
static void do_sync(void)
{
    fsync(file);
}
static void do_sleep(void)
{
    nanosleep(&(struct timespec){ .tv_nsec = 200000 }, NULL); /* long enough for a backtrace */
}
static void do_poll(void)
{
    poll(NULL, 0, 1);
}
static void do_lock(void)
{
    pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&lock);
    pthread_mutex_unlock(&lock);
}
static void do_range(void)
{
    nvtx_push("range");
    nvtx_pop();
}
static void do_mark(void)
{
    struct nvtx_attributes attributes = nvtx_text("mark");
    nvtx_domain_mark(NULL, &attributes);
}

/* The child's depth, which it has from the handlers that run in it, is the parent's result. */
static int child_depth;
static void do_fork(void)
{
    int ends[2], depth = 0;
    if (pipe(ends) != 0)
        abort();
    pid_t child = fork();
    if (child == 0) {
        depth = used();
        _exit(write(ends[1], &depth, sizeof depth) != sizeof depth);
    }
    if (read(ends[0], &depth, sizeof depth) != sizeof depth || waitpid(child, NULL, 0) != child)
        abort();
    child_depth = depth;
    close(ends[0]);
    close(ends[1]);
}

static void end_well(pid_t child)
{
    int status;
    if (waitpid(child, &status, 0) != child || status != 0)
        abort();
}

static void do_exec(void)
{
    pid_t child = vfork(); /* on this stack */
    if (child == 0) {
        execl("/bin/true", "true", (char *)NULL);
        _exit(1);
    }
    end_well(child);
}

/* With an environment that names no agent, which the hook changes. */
static char *own_environment[301], *const arguments[] = { "true", NULL };
static void do_changed_exec(void)
{
    pid_t child = vfork();
    if (child == 0) {
        execve("/bin/true", arguments, own_environment);
        _exit(1);
    }
    end_well(child);
}
static void do_changed_spawn(void)
{
    pid_t child;
    if (posix_spawn(&child, "/bin/true", NULL, NULL, arguments, own_environment) != 0)
        abort();
    end_well(child);
}

static const struct {
    const char *name;
    void (*call)(void);
} calls[] = {
    { "read", do_read },
    { "fsync", do_sync },
    { "nanosleep", do_sleep },
    { "poll", do_poll },
    { "lock", do_lock },
    { "range", do_range },
    { "mark", do_mark },
    { "fork", do_fork },
    { "exec", do_exec },
    { "changed exec", do_changed_exec },
    { "changed spawn", do_changed_spawn },
};

static void depths(void)
{
    static ucontext_t main_context, coroutine;
    for (size_t i = 0; i + 1 < sizeof own_environment / sizeof *own_environment; i++)
        own_environment[i] = "ITS_OWN=1";
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        calls[i].call();
        memset(stack, PAINT, sizeof stack);
        getcontext(&coroutine);
        coroutine.uc_stack.ss_sp = stack;
        coroutine.uc_stack.ss_size = sizeof stack;
        coroutine.uc_link = &main_context;
        child_depth = 0;
        makecontext(&coroutine, calls[i].call, 0);
        swapcontext(&main_context, &coroutine);
        printf("%s %d\n", calls[i].name, child_depth > used() ? child_depth : used());
        fflush(stdout);
    }
}

/* ---- A crash handler ------------------------------------------------------------------------------------------- */

static void on_crash(int signal_number)
{
    do_sync();
    do_sleep();
    _exit(STATUS);
}

/* Room for the kernel's frame and 4 KiB for the handler; below it lies a page that nobody may touch. */
static int crash(void)
{
    stack_t alternate = { .ss_sp = stack + GUARD_BYTES, .ss_size = getauxval(AT_MINSIGSTKSZ) + 4096 };
    struct sigaction action = { .sa_handler = on_crash, .sa_flags = SA_ONSTACK };
    do_sync();
    do_sleep();
    if (mprotect(stack, GUARD_BYTES, PROT_NONE) != 0)
        return 1;
    if (sigaltstack(&alternate, NULL) != 0 || sigaction(SIGSEGV, &action, NULL) != 0)
        return 1;
    raise(SIGSEGV);
    return 2;
}

int main(int argc, char **argv)
{
    file = open("file", O_RDWR | O_CREAT, 0600);
    if (file < 0 || write(file, "x", 1) != 1)
        return 1;
    if (argc > 1 && strcmp(argv[1], "handler") == 0)
        return crash();
    depths();
    return 0;
}
