/* Limits that a program sets itself, or is started with: it can use all of them. */
#include "guest.h"

static int run_self(const char *program)
{
    execl("/proc/self/exe", arguments[-1], program, (char *)NULL);
    return 99;
}

static void limit_to(int resource, rlim_t most)
{
    struct rlimit limit = { most, most };
    if (setrlimit((__rlimit_resource_t)resource, &limit) != 0)
        say("setrlimit %d: errno %d", resource, errno);
}

/* All of sixteen descriptors, and one in the program that is started when they are gone. */
static int use_descriptors(void)
{
    int count = 0;
    while (count < 64 && dup(0) >= 0)
        count++;
    say("descriptors %d more, then errno %d", count, errno);
    return 0;
}

static int few_descriptors(void)
{
    limit_to(RLIMIT_NOFILE, 16);
    return run_self("all_descriptors");
}

PROGRAM(all_descriptors)
{
    use_descriptors();
    for (int i = 3; i < 80; i++)
        close(i);
    return 0;
}

PROGRAM(limited_descriptors)
{
    in_child("program", few_descriptors);
    limit_to(RLIMIT_NOFILE, 8);
    use_descriptors();
    in_child("child", use_descriptors);
    for (int i = 3; i < 8; i++)
        close(i);
    return 0;
}

/* A file of so many bytes and no more: SIGXFSZ for the program alone. */
static int write_too_much(void)
{
    char name[] = "file-XXXXXX", block[4096] = "";
    limit_to(RLIMIT_FSIZE, 8192);
    int file = mkstemp(name);
    unlink(name);
    for (int i = 0; i < 3; i++)
        say_result("write", write(file, block, sizeof block));
    return 0;
}

static int write_too_much_and_live(void)
{
    signal(SIGXFSZ, SIG_IGN);
    return write_too_much();
}

static int small_files(void)
{
    limit_to(RLIMIT_FSIZE, 1 << 20);
    return run_self("surely_nothing_written");
}

PROGRAM(surely_nothing_written)
{
    say("here");
    return 0;
}

PROGRAM(limited_files)
{
    in_child("child", write_too_much);
    in_child("child", write_too_much_and_live);
    in_child("program", small_files);
    return 0;
}

/* Limits that are the user's, not the process's, are counted for a user that nobody else is. */
static int become_alone(void)
{
    uid_t nobody_else = 1000000000u + (uid_t)getpid();
    return setresuid(nobody_else, nobody_else, nobody_else) == 0;
}

static void *nothing(void *unused)
{
    return unused;
}

static int use_processes(void)
{
    limit_to(RLIMIT_NPROC, 8);
    if (!become_alone())
        return 98;
    pid_t children[64];
    int count = 0;
    while (count < 64 && (children[count] = fork()) > 0)
        count++;
    if (count < 64 && children[count] == 0)
        for (;;)
            pause();
    say("processes %d more, then errno %d", count, errno);
    pthread_t thread;
    say("a thread: %d", pthread_create(&thread, NULL, nothing, NULL));
    for (int i = 0; i < count; i++) {
        kill(children[i], SIGKILL);
        waitpid(children[i], NULL, 0);
    }
    return 0;
}

PROGRAM(limited_processes)
{
    if (geteuid() != 0)
        return skipped("needs root");
    in_child("child", use_processes);
    return 0;
}

/* Each queued signal and each timer takes one of the user's. */
static int use_signals(void)
{
    limit_to(RLIMIT_SIGPENDING, 8);
    if (!become_alone())
        return 98;
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGRTMIN + 5);
    sigprocmask(SIG_BLOCK, &set, NULL);
    int count = 0;
    while (count < 100 && sigqueue(getpid(), SIGRTMIN + 5, (union sigval){ .sival_int = count }) == 0)
        count++;
    say("signals %d, then errno %d", count, errno);
    return 0;
}

static int use_timers(void)
{
    limit_to(RLIMIT_SIGPENDING, 8);
    if (!become_alone())
        return 98;
    int count = 0;
    for (timer_t timer; count < 100 && timer_create(CLOCK_MONOTONIC, NULL, &timer) == 0;)
        count++;
    say("timers %d, then errno %d", count, errno);
    return 0;
}

static int use_timers_of_program(void)
{
    limit_to(RLIMIT_SIGPENDING, 8);
    return run_self("all_timers");
}

PROGRAM(all_timers)
{
    if (geteuid() != 0)
        return skipped("needs root");
    in_child("child", use_timers);
    return 0;
}

PROGRAM(limited_signals)
{
    if (geteuid() != 0)
        return skipped("needs root");
    in_child("child", use_signals);
    in_child("child", use_timers);
    in_child("program", use_timers_of_program);
    return 0;
}

/* A stack of 64 KiB for the first thread of a program. */
static int small_stack(void)
{
    limit_to(RLIMIT_STACK, 64 << 10);
    return run_self("little_stack");
}

PROGRAM(little_stack)
{
    char block[16 << 10];
    memset(block, 1, sizeof block);
    pthread_t thread;
    say("thread %d", pthread_create(&thread, NULL, nothing, NULL));
    pthread_join(thread, NULL);
    return block[100] - 1;
}

PROGRAM(limited_stack)
{
    in_child("program", small_stack);
    return 0;
}

static int no_time(void)
{
    limit_to(RLIMIT_CPU, 20);
    return run_self("little_stack");
}

static int no_core(void)
{
    limit_to(RLIMIT_CORE, 0);
    limit_to(RLIMIT_MEMLOCK, 0);
    limit_to(RLIMIT_MSGQUEUE, 0);
    limit_to(RLIMIT_NICE, 0);
    limit_to(RLIMIT_RTPRIO, 0);
    return run_self("little_stack");
}

PROGRAM(limits_of_nothing)
{
    in_child("program", no_time);
    in_child("program", no_core);
    return 0;
}
