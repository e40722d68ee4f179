/* A program with phases for the options that say when to record.
 *
 *     capture ticks SECONDS    a mark every few milliseconds, its text the monotonic clock
 *     capture phases           ranges called "work" in two domains, a mark in each and between them, then until the
 *                              end of stdin (which may be at once) nothing
 *     capture domains          one range in each of three domains and in the default one
 *     capture repeat N         N ranges called "work", each around a mark with its number; then until the end of
 *                              stdin
 *     capture crowded MARKS    stops its parent, the collector, and makes so many marks in a range called "work",
 *                              and a thread called "crowded"; after the range its parent goes on, and it waits until
 *                              the end of stdin
 *     capture sleeps           one sleep of 1 ms, one of 30 ms; prints how many ns each took
 *     capture fork             a range in a forked child, then one in a child that has called exec, then one of its
 *                              own
 *     capture jumps            a child that calls tacho_start() and tacho_stop() again and again, and whose signal
 *                              handler leaves them by siglongjmp, each time some instructions later; then both once
 *                              more, around a mark; 77 where ptrace is refused
 *     capture range NAME       one range */
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../../include/tacho/tacho.h"
#include "nvtx_client.h"

static void sleep_ms(long ms)
{
    struct timespec time = { ms / 1000, ms % 1000 * 1000000 };

    nanosleep(&time, NULL);
}

static uint64_t now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void timed_sleep(long ms)
{
    uint64_t begin = now_ns();

    sleep_ms(ms);
    printf("%llu\n", (unsigned long long)(now_ns() - begin));
}

static void range(const char *name)
{
    nvtx_push(name);
    nvtx_pop();
}

static void domain_push(const void *domain, const char *text)
{
    struct nvtx_attributes attributes = nvtx_text(text);

    nvtx_domain_push(domain, &attributes);
}

static void until_stdin_ends(void)
{
    char byte;

    puts("done");
    fflush(stdout);
    while (read(0, &byte, 1) > 0)
        ;
}

static void ticks(double seconds)
{
    uint64_t end = now_ns() + (uint64_t)(seconds * 1e9);
    char text[32];

    for (uint64_t now; (now = now_ns()) < end; sleep_ms(5)) {
        snprintf(text, sizeof text, "%llu", (unsigned long long)now);
        nvtx_mark(text);
    }
}

static void phases(void)
{
    const void *library = nvtx_domain("library");

    nvtx_mark("before");
    domain_push(library, "work");
    nvtx_mark("in library's");
    nvtx_domain_pop(library);
    nvtx_mark("between");
    nvtx_push("work");
    nvtx_mark("in default's");
    nvtx_pop();
    nvtx_mark("between");
    uint64_t id = nvtx_start("work");
    nvtx_mark("in start and end");
    nvtx_end(id);
    nvtx_mark("between");
    nvtx_push("a@b");
    nvtx_mark("in a@b");
    nvtx_pop();
    nvtx_mark("after");
    until_stdin_ends();
}

static void repeat(int times)
{
    char text[32];

    for (int i = 0; i < times; i++) {
        snprintf(text, sizeof text, "inside %d", i);
        nvtx_push("work");
        nvtx_mark(text);
        nvtx_pop();
        nvtx_mark("outside");
    }
    until_stdin_ends();
}

static void *named(void *unused)
{
    pthread_setname_np(pthread_self(), "crowded");
    return unused;
}

static void crowded(int count)
{
    pthread_t thread;

    nvtx_push("work");
    kill(getppid(), SIGSTOP);
    for (int i = 0; i < count; i++)
        nvtx_mark("crowd");
    pthread_create(&thread, NULL, named, NULL);
    pthread_join(thread, NULL);
    nvtx_pop();
    kill(getppid(), SIGCONT);
    until_stdin_ends();
}

static void domains(void)
{
    static const char *const names[] = { "one", "two", "three, with a comma" };

    range("in default");
    for (int i = 0; i < 3; i++) {
        const void *domain = nvtx_domain(names[i]);
        char text[64];
        snprintf(text, sizeof text, "in %s", names[i]);
        domain_push(domain, text);
        nvtx_domain_pop(domain);
    }
}

static void fork_and_exec(char *self)
{
    for (int executes = 0; executes < 2; executes++) {
        pid_t child = fork();
        if (child == 0) {
            range(executes ? "before exec" : "forked");
            if (executes)
                execl(self, self, "range", "executed", (char *)NULL);
            _exit(executes);
        }
        waitpid(child, NULL, 0);
    }
    range("parent");
}

#define STEPS_MOST 1000 /* about what both calls take: then the child may go on without a signal */

static sigjmp_buf way_out;

static void jump_out(int signal)
{
    siglongjmp(way_out, signal);
}

static int switch_and_jump(void)
{
    const struct tacho_calls *(*find)(void) = (const struct tacho_calls *(*)(void))dlsym(RTLD_DEFAULT,
                                                                                         "tacho_agent_calls");
    const struct tacho_calls *calls = find ? find() : NULL;
    volatile int done = 0;

    if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) != 0)
        return 77;
    if (!calls || signal(SIGUSR1, jump_out) == SIG_ERR)
        return 1;
    while (!done)
        if (sigsetjmp(way_out, 1) == 0) {
            raise(SIGSTOP);
            calls->start();
            calls->stop();
            done = 1;
        }
    calls->start();
    nvtx_mark("after the jumps");
    calls->stop();
    return 0;
}

/* Runs the child from its stop on, and sends it the signal after so many instructions. */
static int step_and_signal(pid_t child, int steps)
{
    int status;

    for (int i = 0; i < steps; i++)
        if (ptrace(PTRACE_SINGLESTEP, child, NULL, NULL) != 0 || waitpid(child, &status, 0) != child ||
            !WIFSTOPPED(status))
            return -1;
    if (kill(child, SIGUSR1) != 0 || ptrace(PTRACE_CONT, child, NULL, NULL) != 0 || waitpid(child, &status, 0) != child)
        return -1;
    return ptrace(PTRACE_CONT, child, NULL, (void *)SIGUSR1) == 0 ? 0 : -1;
}

static int jumps(void)
{
    int status, steps = 0;
    pid_t child = fork();

    if (child == 0)
        _exit(switch_and_jump());
    for (; waitpid(child, &status, 0) == child && WIFSTOPPED(status); steps += 5)
        if (steps < STEPS_MOST ? step_and_signal(child, steps) != 0 : ptrace(PTRACE_CONT, child, NULL, NULL) != 0)
            return 1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

int main(int argc, char **argv)
{
    const char *mode = argc > 1 ? argv[1] : "";

    if (strcmp(mode, "ticks") == 0)
        ticks(atof(argv[2]));
    else if (strcmp(mode, "phases") == 0)
        phases();
    else if (strcmp(mode, "domains") == 0)
        domains();
    else if (strcmp(mode, "repeat") == 0)
        repeat(atoi(argv[2]));
    else if (strcmp(mode, "crowded") == 0)
        crowded(atoi(argv[2]));
    else if (strcmp(mode, "sleeps") == 0)
        timed_sleep(1), timed_sleep(30);
    else if (strcmp(mode, "fork") == 0)
        fork_and_exec(argv[0]);
    else if (strcmp(mode, "jumps") == 0)
        return jumps();
    else if (strcmp(mode, "range") == 0)
        range(argv[2]);
    else
        return 1;
    return 0;
}
