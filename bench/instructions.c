/* How many instructions a call takes, counted by single steps: for machines without performance counters, and exact.
 *
 *     instructions                    a free mutex, a trylock, a condition that nobody waits for, and so on: kinds[]
 *     instructions COUNT PROGRAM …    a program between two signals SIGUSR1 that it sends itself, divided by COUNT
 *
 * Run the first alone and as the program of `tacho profile -t osrt -s none`: the difference is what the hooks take.
 * Single steps take microseconds, so calls that are timed look long and are recorded: only those that are counted can
 * be compared.
 *
 *     cc -O2 -o instructions bench/instructions.c -lpthread */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { CALLS = 100, WARM_UP = 1000 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static FILE *stream;

static void call_nothing(void)
{
    __asm__ volatile("");
}

static void call_mutex(void)
{
    pthread_mutex_lock(&lock);
    pthread_mutex_unlock(&lock);
}

static void call_trylock(void)
{
    pthread_mutex_trylock(&lock);
    pthread_mutex_unlock(&lock);
}

static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;

static void call_signal(void)
{
    pthread_cond_signal(&condition);
}

static void call_getc(void)
{
    getc(stream);
}

static const struct {
    const char *name;
    void (*call)(void);
} kinds[] = {
    { "nothing", call_nothing },  { "mutex pair", call_mutex }, { "trylock pair", call_trylock },
    { "condition", call_signal }, { "getc", call_getc },
};

static void signal_self(void)
{
    syscall(SYS_tgkill, getpid(), getpid(), SIGUSR1);
}

static void be_stepped(void (*volatile call)(void))
{
    stream = fopen("/dev/zero", "r");
    if (!stream || getc(stream) != 0)
        _exit(1);
    ptrace(PTRACE_TRACEME, 0, 0, 0);
    for (int i = 0; i < WARM_UP; i++)
        call();
    signal_self();
    for (int i = 0; i < CALLS; i++)
        call();
    signal_self();
    _exit(0);
}

/* The steps of a child between its first two signals. */
static long count_steps(pid_t child)
{
    int status, signals = 0;
    long steps = 0;
    while (waitpid(child, &status, 0) == child && WIFSTOPPED(status)) {
        int number = WSTOPSIG(status);
        signals += number == SIGUSR1;
        steps += signals == 1;
        ptrace(signals == 1 ? PTRACE_SINGLESTEP : PTRACE_CONT, child, 0,
               number == SIGUSR1 || number == SIGTRAP ? 0 : number);
    }
    return steps;
}

int main(int argc, char **argv)
{
    if (argc > 2) {
        pid_t child = fork();
        if (child == 0) {
            ptrace(PTRACE_TRACEME, 0, 0, 0);
            execvp(argv[2], argv + 2);
            _exit(127);
        }
        printf("%.1f instructions\n", (double)count_steps(child) / atof(argv[1]));
        return 0;
    }
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        pid_t child = fork();
        if (child == 0)
            be_stepped(kinds[i].call);
        printf("%-14s %6.1f instructions\n", kinds[i].name, (double)count_steps(child) / CALLS);
    }
    return 0;
}
