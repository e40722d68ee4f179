/* Stacks: small ones of threads, those of signal handlers, those that a program makes itself. */
#include "guest.h"

#include <poll.h>
#include <ucontext.h>

enum { SMALL = 16 << 10, PAINT = 0x5A };

/* Calls that a profiler records, and that take long enough to be worth a backtrace. */
static void slow_calls(void)
{
    struct timespec pause = { 0, 200000 };
    nanosleep(&pause, NULL);
    fsync(2);
    poll(NULL, 0, 1);
    usleep(200);
}

static void *call_in_thread(void *unused)
{
    char mine[1024];
    memset(mine, PAINT, sizeof mine);
    for (int i = 0; i < 5; i++)
        slow_calls();
    return mine[500] == PAINT ? unused : (void *)1;
}

static int thread_with_stack(size_t bytes)
{
    pthread_attr_t attributes;
    pthread_t thread;
    void *result = (void *)1;
    pthread_attr_init(&attributes);
    int refused = pthread_attr_setstacksize(&attributes, bytes);
    say("stack of %zu: %d", bytes, refused);
    say("thread: %d", pthread_create(&thread, &attributes, call_in_thread, NULL));
    pthread_join(thread, &result);
    pthread_attr_destroy(&attributes);
    return result != NULL;
}

PROGRAM(thread_of_16_kib) { return thread_with_stack(SMALL); }

/* A stack that the program brought, with paint below it to see how far it was used, in steps of 4 KiB. */
static char *painted(size_t bytes)
{
    char *memory = mmap(NULL, bytes + 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memset(memory + 4096, PAINT, bytes);
    mprotect(memory, 4096, PROT_NONE);
    return memory + 4096;
}

PROGRAM(thread_on_own_stack)
{
    char *stack = painted(SMALL);
    pthread_attr_t attributes;
    pthread_t thread;
    void *result = (void *)1, *address;
    size_t bytes;
    pthread_attr_init(&attributes);
    pthread_attr_setstack(&attributes, stack, SMALL);
    say("thread: %d", pthread_create(&thread, &attributes, call_in_thread, NULL));
    pthread_getattr_np(thread, &attributes);
    pthread_attr_getstack(&attributes, &address, &bytes);
    say("its stack is %s, %zu bytes", address == stack ? "mine" : "another", bytes);
    pthread_join(thread, &result);
    pthread_attr_destroy(&attributes);
    return result != NULL;
}

static volatile sig_atomic_t handled;

static void slow_handler(int number)
{
    char here;
    stack_t now;
    slow_calls();
    sigaltstack(NULL, &now);
    handled = now.ss_flags == SS_ONSTACK && (size_t)(&here - (char *)now.ss_sp) < now.ss_size;
}

/* A crash handler that writes its last words has 8 KiB, as SIGSTKSZ once was. */
static int on_alternate_stack(int by_fault)
{
    char *memory = painted(8192);
    stack_t stack = { .ss_sp = memory, .ss_size = 8192 }, old;
    struct sigaction action = { .sa_handler = slow_handler, .sa_flags = SA_ONSTACK };
    sigaltstack(&stack, NULL);
    sigaction(by_fault, &action, NULL);
    for (int i = 0; i < 3; i++)
        raise(by_fault);
    say("handled on the alternate stack: %d", (int)handled);
    sigaltstack(NULL, &old);
    say("alternate stack %s, %zu bytes", old.ss_sp == memory ? "mine" : "another", old.ss_size);
    stack.ss_flags = SS_DISABLE;
    sigaltstack(&stack, NULL);
    signal(by_fault, SIG_DFL);
    return 0;
}

PROGRAM(alternate_stack_of_8_kib) { return on_alternate_stack(SIGUSR1); }
PROGRAM(alternate_stack_for_a_crash) { return on_alternate_stack(SIGSEGV); }

/* As small as the kernel lets them be, with nothing below; then the threads compute for long enough to be sampled. No signal of theirs
 * comes, so nothing needs the room. */
#if defined(__aarch64__)
enum { KERNEL_LEAST = 5120 };
#else
enum { KERNEL_LEAST = 2048 };
#endif

static void compute(void)
{
    struct timespec now = { 0, 0 }, end;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &end);
    for (end.tv_nsec += 30000000; (now.tv_sec - end.tv_sec) * 1000000000 + now.tv_nsec < end.tv_nsec;)
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
}

static void *compute_with_stack(void *bytes)
{
    stack_t stack = { .ss_size = (size_t)bytes }, old = { .ss_flags = -1 };
    stack.ss_sp = painted(8 << 12) + (8 << 12) - stack.ss_size;
    say_result("sigaltstack", sigaltstack(&stack, &old));
    say("before: flags %#x, %zu bytes", (unsigned)old.ss_flags, old.ss_size);
    compute();
    sigaltstack(NULL, &old);
    say("stack %s, %s bytes", old.ss_sp == stack.ss_sp ? "mine" : "another", old.ss_size == stack.ss_size ? "as many" : "other");
    return NULL;
}

PROGRAM(alternate_stacks_without_room)
{
    size_t frame = getauxval(51 /* AT_MINSIGSTKSZ */);
    size_t sizes[] = { KERNEL_LEAST, frame > KERNEL_LEAST ? frame : KERNEL_LEAST, KERNEL_LEAST + 1024 };
    for (int i = 0; i < 3; i++) {
        pthread_t thread;
        pthread_create(&thread, NULL, compute_with_stack, (void *)sizes[i]);
        pthread_join(thread, NULL);
    }
    compute_with_stack((void *)(size_t)KERNEL_LEAST);
    pid_t child = fork();
    if (child == 0) {
        compute();
        _exit(7);
    }
    say_child("child", child);
    sigaltstack(&(stack_t){ .ss_flags = SS_DISABLE }, NULL);
    compute();
    return 0;
}

/* Set, asked for and given up: in a thread, in handlers on a stack of their own or not, in children. */
static void say_stack(const char *when)
{
    stack_t now = { .ss_flags = -1 };
    int result = sigaltstack(NULL, &now);
    say("%s: %d, flags %#x, %s, %zu bytes", when, result, (unsigned)now.ss_flags, now.ss_sp ? "somewhere" : "nowhere", now.ss_size);
}

static void say_set(const char *what, const stack_t *stack)
{
    errno = 0;
    int result = sigaltstack(stack, NULL);
    say("%s: %d, errno %d", what, result, errno);
}

static char *memory_for_handlers;

static void look_in_handler(int number)
{
    stack_t stack = { .ss_sp = memory_for_handlers, .ss_size = 16384 }, none = { .ss_flags = SS_DISABLE };
    say_stack("in the handler");
    say_set("too small", &(stack_t){ .ss_sp = memory_for_handlers, .ss_size = 100 });
    say_set("no such flag", &(stack_t){ .ss_sp = memory_for_handlers, .ss_size = 16384, .ss_flags = 64 });
    say_set("set", &stack);
    say_set("give up", &none);
}

static int look_in_child(void)
{
    say_stack("in the child");
    say_set("give up", &(stack_t){ .ss_flags = SS_DISABLE });
    say_stack("then");
    return 0;
}

static void *look_in_thread(void *unused)
{
    say_stack("in the thread");
    say_set("set", &(stack_t){ .ss_sp = memory_for_handlers, .ss_size = 16384, .ss_flags = SS_ONSTACK });
    say_stack("then");
    return unused;
}

PROGRAM(alternate_stack_as_it_is_set)
{
    struct sigaction action = { .sa_handler = look_in_handler, .sa_flags = SA_ONSTACK };
    pthread_t thread;
    memory_for_handlers = painted(16384);
    stack_t stack = { .ss_sp = memory_for_handlers, .ss_size = 16384 };
    sigaction(SIGUSR1, &action, NULL);
    say_stack("at first");
    in_child("child", look_in_child);
    raise(SIGUSR1);
    say_stack("after the handler");
    say_set("bad address", nowhere);
    say_set("too small", &(stack_t){ .ss_sp = memory_for_handlers, .ss_size = 100 });
    say_set("no such flag", &(stack_t){ .ss_sp = memory_for_handlers, .ss_size = 16384, .ss_flags = 64 });
    say_set("set", &stack);
    in_child("child", look_in_child);
    raise(SIGUSR1);
    say_stack("after the handler");
    stack.ss_flags = (int)(1u << 31); /* SS_AUTODISARM */
    say_set("set, and off in handlers", &stack);
    raise(SIGUSR1);
    say_stack("after the handler");
    pthread_create(&thread, NULL, look_in_thread, NULL);
    pthread_join(thread, NULL);
    look_in_child();
    signal(SIGUSR1, SIG_DFL);
    return 0;
}

static char *of_main;

static void where(int number)
{
    char here;
    say("handler on %s stack", &here < of_main && of_main - &here < 1 << 20 ? "the thread's" : "another");
}

PROGRAM(handler_that_wants_an_alternate_stack)
{
    struct sigaction action = { .sa_handler = where, .sa_flags = SA_ONSTACK };
    of_main = __builtin_frame_address(0);
    sigaction(SIGUSR1, &action, NULL);
    raise(SIGUSR1);
    signal(SIGUSR1, SIG_DFL);
    return 0;
}

static void last_words(int number)
{
    slow_calls();
    say("last words");
    _exit(9);
}

static int __attribute__((noinline)) overflow(volatile char *before)
{
    volatile char block[4096];
    block[0] = before[0];
    block[1] = 0;
    return before[1] ? 0 : overflow(block) + block[0];
}

static int overflow_the_stack(void)
{
    stack_t stack = { .ss_sp = painted(16384), .ss_size = 16384 };
    struct sigaction action = { .sa_handler = last_words, .sa_flags = SA_ONSTACK };
    char first[2] = "";
    sigaltstack(&stack, NULL);
    sigaction(SIGSEGV, &action, NULL);
    return overflow(first);
}

PROGRAM(stack_overflow_is_handled)
{
    struct rlimit limit = { 256 << 10, RLIM_INFINITY };
    setrlimit(RLIMIT_STACK, &limit);
    in_child("child", overflow_the_stack);
    return 0;
}

/* ---- Fibers ------------------------------------------------------------------------------------------------------------ */

enum { FIBERS = 20, TURNS = 10 };

static ucontext_t scheduler, fibers[FIBERS];
static int turns[FIBERS];

static void fiber(int number)
{
    for (int i = 0; i < TURNS; i++) {
        turns[number]++;
        slow_calls();
        swapcontext(&fibers[number], &scheduler);
    }
    for (;;)
        swapcontext(&fibers[number], &scheduler);
}

static int run_fibers(size_t bytes)
{
    char *stacks[FIBERS];
    for (int i = 0; i < FIBERS; i++) {
        stacks[i] = painted(bytes);
        getcontext(&fibers[i]);
        fibers[i].uc_stack = (stack_t){ .ss_sp = stacks[i], .ss_size = bytes };
        fibers[i].uc_link = &scheduler;
        makecontext(&fibers[i], (void (*)(void))fiber, 1, i);
    }
    int sum = 0;
    for (int turn = 0; turn < TURNS; turn++)
        for (int i = 0; i < FIBERS; i++)
            swapcontext(&scheduler, &fibers[i]);
    for (int i = 0; i < FIBERS; i++)
        sum += turns[i];
    say("turns %d", sum);
    return 0;
}

PROGRAM(fibers_of_16_kib) { return run_fibers(SMALL); }
PROGRAM(fibers_of_64_kib) { return run_fibers(64 << 10); }

static void *fibers_in_thread(void *unused)
{
    run_fibers(32 << 10);
    return unused;
}

PROGRAM(fibers_in_a_thread)
{
    pthread_t thread;
    pthread_create(&thread, NULL, fibers_in_thread, NULL);
    pthread_join(thread, NULL);
    return 0;
}

/* A fiber that is started by one thread and goes on in another. */
static void *go_on(void *unused)
{
    for (int i = 0; i < TURNS / 2; i++)
        swapcontext(&scheduler, &fibers[0]);
    return unused;
}

PROGRAM(fiber_that_changes_threads)
{
    pthread_t thread;
    getcontext(&fibers[0]);
    fibers[0].uc_stack = (stack_t){ .ss_sp = painted(64 << 10), .ss_size = 64 << 10 };
    fibers[0].uc_link = &scheduler;
    makecontext(&fibers[0], (void (*)(void))fiber, 1, 0);
    go_on(NULL);
    pthread_create(&thread, NULL, go_on, NULL);
    pthread_join(thread, NULL);
    say("turns %d", turns[0]);
    return 0;
}

/* A jump out of a handler, and out of the midst of calls. */
#include <setjmp.h>

static sigjmp_buf back;

static void jump(int number)
{
    slow_calls();
    siglongjmp(back, 1);
}

PROGRAM(jumps_out_of_handlers)
{
    volatile int jumps = 0;
    signal(SIGALRM, jump);
    while (jumps < 20) {
        if (sigsetjmp(back, 1) == 0) {
            struct itimerval soon = { .it_value = { 0, 1000 } };
            setitimer(ITIMER_REAL, &soon, NULL);
            for (;;)
                slow_calls();
        }
        jumps++;
    }
    signal(SIGALRM, SIG_DFL);
    say("jumps %d", jumps);
    return 0;
}
