/* A program whose CPU time is known: sampling [seconds] burns them in three functions, 60, 30 and 10 % each, while one
 * thread sleeps, one holds a lock and burns, and one waits for it. Each thread tells at its end what it used of its CPU
 * and what it waited: "NAME TID CPU_NS WAITED_NS". With "signal" as a second argument it handles SIGURG itself; with
 * "block" its threads let no signal in. */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static double seconds = 0.5;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t locked;
static volatile unsigned long sink;
static int interrupted;

static long long now(clockid_t clock)
{
    struct timespec time;
    clock_gettime(clock, &time);
    return time.tv_sec * 1000000000ll + time.tv_nsec;
}

/* Each adds up something else: the compiler makes one function of equal ones. */
#define BURNER(name, factor)                                                     \
    __attribute__((noinline)) static void name(double part)                      \
    {                                                                            \
        long long end = now(CLOCK_THREAD_CPUTIME_ID) + (long long)(part * 1e9);  \
        while (now(CLOCK_THREAD_CPUTIME_ID) < end)                               \
            for (unsigned i = 0; i < 200000; i++)                                \
                sink += i * factor;                                              \
    }
BURNER(burn_sixty, 3)
BURNER(burn_thirty, 5)
BURNER(burn_ten, 7)
BURNER(burn_with_lock, 11)

static void tell(const char *name, long long waited)
{
    printf("%s %ld %lld %lld\n", name, (long)syscall(SYS_gettid), now(CLOCK_THREAD_CPUTIME_ID), waited);
}

static void *sleeper(void *unused)
{
    struct timespec left = { .tv_nsec = (long)(seconds * 0.4e9) };
    long long start = now(CLOCK_MONOTONIC);
    while (nanosleep(&left, &left) != 0 && errno == EINTR)
        interrupted = 1;
    tell("sleeper", now(CLOCK_MONOTONIC) - start);
    return unused;
}

static void *holder(void *unused)
{
    pthread_mutex_lock(&lock);
    pthread_barrier_wait(&locked);
    burn_with_lock(seconds * 0.3);
    pthread_mutex_unlock(&lock);
    tell("holder", 0);
    return unused;
}

static void *waiter(void *unused)
{
    pthread_barrier_wait(&locked);
    long long start = now(CLOCK_MONOTONIC);
    pthread_mutex_lock(&lock);
    long long waited = now(CLOCK_MONOTONIC) - start;
    pthread_mutex_unlock(&lock);
    tell("waiter", waited);
    return unused;
}

static void *burner(void *unused)
{
    for (int round = 0; round < 10; round++) {
        burn_sixty(seconds * 0.06);
        burn_thirty(seconds * 0.03);
        burn_ten(seconds * 0.01);
    }
    tell("burner", 0);
    return unused;
}

static void count(int number)
{
}

int main(int argc, char **argv)
{
    static void *(*const starts[])(void *) = { sleeper, holder, waiter, burner };
    pthread_t threads[4];
    if (argc > 1)
        seconds = atof(argv[1]);
    if (argc > 2 && strcmp(argv[2], "signal") == 0)
        signal(SIGURG, count);
    if (argc > 2 && strcmp(argv[2], "block") == 0) {
        sigset_t all;
        sigfillset(&all);
        pthread_sigmask(SIG_BLOCK, &all, NULL);
    }
    pthread_barrier_init(&locked, NULL, 2);
    for (int i = 0; i < 4; i++)
        pthread_create(&threads[i], NULL, starts[i], NULL);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    return interrupted;
}
