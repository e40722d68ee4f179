/* A program that knows how many events it makes: it prints "nvtx N" and "osrt N" at its end.
 *
 *     counts burst THREADS N TEXT_LENGTH   ranges, marks, reads, writes and locks from several threads at once
 *     counts signals THREADS SIGNALS       the same, while a timer's handler does so too, on top of whatever it
 *                                          meets
 *     counts steps 1 N                     the same N times, while a handler does so too after each instruction
 *                                          (x86_64)
 *     counts leaps 1 N                     a mark and a read that a handler leaves by siglongjmp after 1, 2, … N
 *                                          instructions (x86_64)
 *     counts fork CHILDREN N               a child each for N marks and N reads
 *     counts churn THREADS N               threads one after another, which also emit from their destructors
 *     counts left 1 N                      marks that a signal handler leaves by siglongjmp at any moment, then N
 *                                          more marks
 *     counts jumps 1 N                     N reads that a signal handler leaves by siglongjmp
 *     counts cancel 1 N                    N threads that are cancelled inside a read
 *     counts capture ROUNDS N              N marks and reads inside and outside of the range "capture"
 *
 * OS calls are counted where the program makes them; what the start of a program costs is the same for every N. */
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "nvtx_client.h"

#define APART_BYTES 65536
#define LEAPS_OF_A_THREAD 200

struct counts {
    uint64_t nvtx, osrt;
};
static struct counts *counts; /* shared with forked children */
static int zero, null;
static unsigned long rounds;
static char *text;
static volatile long signals_left;
static unsigned long steps;
static void *apart_stacks;
static pthread_mutex_t common = PTHREAD_MUTEX_INITIALIZER;

static void count(uint64_t nvtx, uint64_t osrt)
{
    __atomic_fetch_add(&counts->nvtx, nvtx, __ATOMIC_RELAXED);
    __atomic_fetch_add(&counts->osrt, osrt, __ATOMIC_RELAXED);
}

static void must(int truth)
{
    if (!truth)
        abort();
}

/* Four NVTX events and two calls; safe in a signal handler. */
static void emit(void)
{
    char byte;

    nvtx_push(text);
    nvtx_push("inner");
    must(read(zero, &byte, 1) == 1);
    nvtx_pop();
    nvtx_mark(text);
    must(write(null, &byte, 1) == 1);
    nvtx_pop();
    nvtx_end(nvtx_start("start and end"));
    count(4, 2);
}

static void *burst(void *argument)
{
    pthread_mutex_t own = PTHREAD_MUTEX_INITIALIZER;

    for (unsigned long i = 0; i < rounds; i++) {
        emit();
        pthread_mutex_lock(&own);
        pthread_mutex_lock(&common);
        pthread_mutex_unlock(&common);
        pthread_mutex_unlock(&own);
        count(0, 2);
    }
    return argument;
}

static void mask_alarm(int how)
{
    sigset_t alarm_only;

    sigemptyset(&alarm_only);
    sigaddset(&alarm_only, SIGALRM);
    pthread_sigmask(how, &alarm_only, NULL);
}

static void on_signal(int signal)
{
    (void)signal;
    emit();
    __atomic_fetch_sub(&signals_left, 1, __ATOMIC_RELAXED);
}

/* Only these threads take the signal, since a kernel that may choose gives it to the main thread. Every other one takes
 * it on a stack apart, which lies above its own: it was mapped before. */
static void *emit_until_signals_are_spent(void *argument)
{
    stack_t apart = { .ss_sp = (char *)apart_stacks + (size_t)argument * APART_BYTES, .ss_size = APART_BYTES };

    if ((size_t)argument % 2)
        must(sigaltstack(&apart, NULL) == 0);
    mask_alarm(SIG_UNBLOCK);
    while (signals_left > 0)
        emit();
    mask_alarm(SIG_BLOCK);
    return NULL;
}

static void run_threads(unsigned long threads, void *(*body)(void *))
{
    pthread_t ids[64];

    must(threads <= 64);
    for (unsigned long i = 0; i < threads; i++)
        must(pthread_create(&ids[i], NULL, body, (void *)i) == 0);
    for (unsigned long i = 0; i < threads; i++)
        must(pthread_join(ids[i], NULL) == 0);
}

static void run_signals(unsigned long threads, unsigned long signals)
{
    struct sigaction action = { .sa_handler = on_signal, .sa_flags = SA_RESTART | SA_ONSTACK };
    struct itimerval often = { { 0, 50 }, { 0, 50 } }, never = { { 0, 0 }, { 0, 0 } };

    signals_left = (long)signals;
    mask_alarm(SIG_BLOCK);
    apart_stacks = mmap(NULL, 64 * APART_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    must(apart_stacks != MAP_FAILED);
    sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_REAL, &often, NULL);
    run_threads(threads, emit_until_signals_are_spent);
    setitimer(ITIMER_REAL, &never, NULL);
}

#if defined(__x86_64__)
/* The processor traps after each instruction, of the agent as well, but not inside the handler. */
static void set_trap_flag(int on)
{
    __asm__ volatile(
        "lea -128(%%rsp), %%rsp\n\tpushfq\n\tandq $~0x100, (%%rsp)\n\torq %0, (%%rsp)\n\tpopfq\n\tlea 128(%%rsp), %%rsp"
        :
        : "r"(on ? 0x100L : 0L)
        : "memory", "cc");
}

static void on_step(int signal)
{
    char byte;

    (void)signal;
    nvtx_push("in the handler");
    must(read(zero, &byte, 1) == 1);
    nvtx_pop();
    nvtx_mark("in the handler");
    count(2, 1);
    steps++;
}

/* In a new thread, which takes its first chunk then; long texts fill others. */
static void *emit_in_steps(void *argument)
{
    for (unsigned long i = 0; i < rounds; i++) {
        set_trap_flag(1);
        emit();
        set_trap_flag(0);
    }
    return argument;
}

static sigjmp_buf step_out;
static volatile unsigned long steps_left, leaps;

static void leap_after_steps(int signal)
{
    if (--steps_left == 0)
        siglongjmp(step_out, signal);
}

static void leap(unsigned long instructions)
{
    char byte;

    steps_left = instructions;
    if (sigsetjmp(step_out, 1) == 0) {
        set_trap_flag(1);
        nvtx_mark("left");
        must(read(zero, &byte, 1) == 1);
        for (;;)
            ;
    }
    nvtx_mark("after the leap");
    must(read(zero, &byte, 0) == 0);
    leaps++;
}

/* Each thread stays within one chunk, which it has from the start: a change of chunks holds back all signals but
 * synchronous ones (sys_hold_signals()), so only the SIGTRAP of this test could jump out of its midst. */
static void *make_leaps(void *argument)
{
    unsigned long first = *(unsigned long *)argument;

    nvtx_mark("first");
    for (unsigned long i = first; i < first + LEAPS_OF_A_THREAD && i <= rounds; i++)
        leap(i);
    return NULL;
}

static void run_leaps(void)
{
    struct sigaction action = { .sa_handler = leap_after_steps };
    pthread_t thread;

    sigaction(SIGTRAP, &action, NULL);
    for (unsigned long first = 1; first <= rounds; first += LEAPS_OF_A_THREAD)
        must(pthread_create(&thread, NULL, make_leaps, &first) == 0 && pthread_join(thread, NULL) == 0);
    printf("leaps %lu\n", leaps);
}

static void run_steps(void)
{
    struct sigaction action = { .sa_handler = on_step };

    sigaction(SIGTRAP, &action, NULL);
    run_threads(1, emit_in_steps);
    printf("steps %lu\n", steps);
}
#else
static void run_steps(void)
{
    must(0); /* no flag for it that a program could set */
}
static void run_leaps(void)
{
    must(0);
}
#endif

static void run_children(unsigned long children)
{
    for (unsigned long i = 0; i < children; i++) {
        pid_t child = fork();
        must(child >= 0);
        if (child == 0) {
            for (unsigned long j = 0; j < rounds; j++)
                emit();
            _exit(0);
        }
        emit();
        must(waitpid(child, NULL, 0) == child);
    }
}

static pthread_key_t key;

static void at_thread_end(void *value)
{
    uintptr_t left = (uintptr_t)value;

    emit();
    if (left > 1)
        pthread_setspecific(key, (void *)(left - 1));
}

static void *short_life(void *argument)
{
    pthread_setspecific(key, (void *)4); /* glibc gives up after four rounds */
    for (unsigned long i = 0; i < rounds; i++)
        emit();
    return argument;
}

static void run_churn(unsigned long threads)
{
    must(pthread_key_create(&key, at_thread_end) == 0);
    for (unsigned long i = 0; i < threads; i++)
        run_threads(1, short_life);
}

static sigjmp_buf way_out;

static void jump_out(int signal)
{
    siglongjmp(way_out, signal);
}

/* A timer that goes on and on, since a single signal may come before the read. */
static void run_jumps(void)
{
    struct sigaction action = { .sa_handler = jump_out };
    struct itimerval often = { { 0, 200 }, { 0, 200 } }, never = { { 0, 0 }, { 0, 0 } };
    int quiet[2];
    char byte;

    must(pipe(quiet) == 0);
    mask_alarm(SIG_BLOCK);
    sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_REAL, &often, NULL);
    for (unsigned long i = 0; i < rounds; i++) {
        sigset_t none;
        struct pollfd wait = { .fd = quiet[0], .events = POLLIN };
        sigemptyset(&none);
        if (sigsetjmp(way_out, 1) == 0)
            ppoll(&wait, 1, NULL, &none); /* the signal comes in here and nowhere else */
        count(0, 1);
    }
    setitimer(ITIMER_REAL, &never, NULL);
    must(read(zero, &byte, 1) == 1);
}

/* A record that is being written when the signal comes is never finished. Others are: of those that
 * follow the last jump, each one. */
static void run_left(void)
{
    struct sigaction action = { .sa_handler = jump_out };
    struct itimerval often = { { 0, 100 }, { 0, 100 } }, never = { { 0, 0 }, { 0, 0 } };
    volatile int jumps = 0;
    sigaction(SIGALRM, &action, NULL);
    if (sigsetjmp(way_out, 1) != 0)
        jumps++;
    if (jumps < 300) {
        setitimer(ITIMER_REAL, &often, NULL);
        for (;;)
            nvtx_mark("at any moment");
    }
    setitimer(ITIMER_REAL, &never, NULL);
    for (unsigned long i = 0; i < rounds; i++)
        nvtx_mark("after the jumps");
}

static int cancel_pipe[2];

static void *read_for_ever(void *argument)
{
    char byte;

    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
    must(read(zero, &byte, 1) == 1);
    nvtx_mark("about to wait");
    must(write(cancel_pipe[1], "x", 1) == 1);
    count(1, 4); /* two calls of this thread, the read that is left, and the main thread's */
    pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, NULL);
    return read(*(int *)argument, &byte, 1) == 1 ? argument : NULL;
}

static void run_cancels(void)
{
    int quiet[2];
    char byte;

    must(pipe(quiet) == 0 && pipe(cancel_pipe) == 0);
    for (unsigned long i = 0; i < rounds; i++) {
        pthread_t thread;
        void *result;
        must(pthread_create(&thread, NULL, read_for_ever, &quiet[0]) == 0);
        must(read(cancel_pipe[0], &byte, 1) == 1);
        must(pthread_cancel(thread) == 0);
        must(pthread_join(thread, &result) == 0 && result == PTHREAD_CANCELED);
        count(0, 3); /* pthread_create, pthread_cancel and pthread_join */
    }
}

static void run_capture(unsigned long times)
{
    char byte;

    for (unsigned long i = 0; i < times; i++) {
        for (unsigned long j = 0; j < rounds; j++) {
            nvtx_mark("outside");
            must(write(null, &byte, 1) == 1);
        }
        nvtx_push("capture");
        for (unsigned long j = 0; j < rounds; j++) {
            nvtx_mark("inside");
            must(read(zero, &byte, 1) == 1);
            count(1, 1);
        }
        nvtx_pop();
    }
}

int main(int argc, char **argv)
{
    unsigned long first, length;

    must(argc >= 4);
    first = strtoul(argv[2], NULL, 10);
    rounds = strtoul(argv[3], NULL, 10);
    length = argc > 4 ? strtoul(argv[4], NULL, 10) : 8;
    counts = mmap(NULL, sizeof *counts, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    zero = open("/dev/zero", O_RDONLY);
    null = open("/dev/null", O_WRONLY);
    text = malloc(length + 1);
    memset(text, 'x', length);
    text[length] = 0;
    nvtx_initialize(NULL); /* now, since it makes OS calls of its own */
    if (strcmp(argv[1], "burst") == 0)
        run_threads(first, burst);
    else if (strcmp(argv[1], "signals") == 0)
        run_signals(first, rounds);
    else if (strcmp(argv[1], "steps") == 0)
        run_steps();
    else if (strcmp(argv[1], "leaps") == 0)
        run_leaps();
    else if (strcmp(argv[1], "fork") == 0)
        run_children(first);
    else if (strcmp(argv[1], "churn") == 0)
        run_churn(first);
    else if (strcmp(argv[1], "left") == 0)
        run_left();
    else if (strcmp(argv[1], "jumps") == 0)
        run_jumps();
    else if (strcmp(argv[1], "cancel") == 0)
        run_cancels();
    else if (strcmp(argv[1], "capture") == 0)
        run_capture(first);
    else
        return 1;
    printf("nvtx %llu\nosrt %llu\n", (unsigned long long)counts->nvtx, (unsigned long long)counts->osrt);
    return 0;
}
