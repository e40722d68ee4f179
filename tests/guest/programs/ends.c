/* The ends of a process: what runs then, what is written, which status is left. */
#include "guest.h"

static void at_exit_one(void)
{
    say("at exit: one");
}
static void at_exit_two(void)
{
    say("at exit: two");
}
static void at_quick_exit_one(void)
{
    say("at quick exit");
}
static void on_exit_one(int status, void *value)
{
    say("on exit: %d %s", status, (const char *)value);
}
__attribute__((destructor)) static void at_unload(void)
{
    if (getenv("GUEST_DESTRUCTOR"))
        say("destructor");
}

static void register_all(void)
{
    setenv("GUEST_DESTRUCTOR", "1", 1);
    atexit(at_exit_one);
    atexit(at_exit_two);
    at_quick_exit(at_quick_exit_one);
    on_exit(on_exit_one, "value");
    fputs("buffered\n", stdout); /* written by exit() alone */
}

static int by_exit(void)
{
    register_all();
    exit(3);
}
static int by__exit(void)
{
    register_all();
    _exit(4);
}
static int by_quick_exit(void)
{
    register_all();
    quick_exit(5);
}
static int by_system_call(void)
{
    register_all();
    syscall(SYS_exit_group, 6);
    return 0;
}
static int by_large_status(void)
{
    register_all();
    exit(0x1234);
}

static int by_abort(void)
{
    struct rlimit none = { 0, 0 };
    setrlimit(RLIMIT_CORE, &none);
    register_all();
    abort();
}

static void *exit_in_thread(void *unused)
{
    exit(unused ? 9 : 8);
}

static int by_thread(void)
{
    pthread_t thread;
    register_all();
    pthread_create(&thread, NULL, exit_in_thread, NULL);
    pthread_join(thread, NULL);
    return 1;
}

static int by_exit_in_handler(void)
{
    register_all();
    atexit(at_exit_two);
    exit(9);
}

PROGRAM(every_end)
{
    in_child("exit", by_exit);
    in_child("_exit", by__exit);
    in_child("quick_exit", by_quick_exit);
    in_child("exit_group", by_system_call);
    in_child("a large status", by_large_status);
    in_child("abort", by_abort);
    in_child("exit in a thread", by_thread);
    in_child("exit with more handlers", by_exit_in_handler);
    return 0;
}

/* The same as the end of this program itself. */
PROGRAM(ends_by_exit)
{
    return by_exit();
}
PROGRAM(ends_by__exit)
{
    return by__exit();
}
PROGRAM(ends_by_quick_exit)
{
    return by_quick_exit();
}
PROGRAM(ends_by_system_call)
{
    return by_system_call();
}
PROGRAM(ends_by_abort)
{
    return by_abort();
}
PROGRAM(ends_in_a_thread)
{
    return by_thread();
}

PROGRAM(ends_by_a_signal)
{
    raise(SIGTERM);
    return 0;
}

PROGRAM(ends_by_a_fault)
{
    struct rlimit none = { 0, 0 };
    setrlimit(RLIMIT_CORE, &none);
    *(volatile int *)nowhere = 1;
    return 0;
}

static void *stay(void *unused)
{
    for (;;)
        usleep(1000);
    return unused;
}

/* Threads are in the midst of calls when main() returns. */
PROGRAM(ends_while_threads_work)
{
    pthread_t thread;
    for (int i = 0; i < 4; i++)
        pthread_create(&thread, NULL, stay, NULL);
    exit(2);
}

PROGRAM(ends_with_output_waiting)
{
    printf("not flushed yet");
    exit(0);
}

/* libc ends the process, with status 0, when the last thread has ended. */
PROGRAM(ends_with_the_first_thread)
{
    register_all();
    pthread_exit(NULL);
}

static void *work_a_while(void *unused)
{
    usleep(30000);
    say("the last thread ends");
    return unused;
}

PROGRAM(ends_with_the_last_thread)
{
    pthread_t thread;
    register_all();
    pthread_create(&thread, NULL, work_a_while, NULL);
    pthread_exit(NULL);
}
