/* changes NAME [changed]: a program of bench/what_if.py, as it is or with its change. Work is CPU time of the thread,
 * so that it is the same in both. */
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static volatile double sink;
static int is_changed;

static void work(double ms)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    double end = 1e3 * (double)now.tv_sec + 1e-6 * (double)now.tv_nsec + ms, at = 0;

    while (at < end) {
        for (int i = 0; i < 3000; i++)
            sink += i * 0.5;
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
        at = 1e3 * (double)now.tv_sec + 1e-6 * (double)now.tv_nsec;
    }
}

#define APART __attribute__((noinline)) static
/* What is changed, and what is not. */
APART void target(double ms, double factor)
{
    work(is_changed ? ms * factor : ms);
    sink++;
}

APART void other(double ms)
{
    work(ms);
    sink++;
}

static void run_both(void *(*first)(void *), void *(*second)(void *))
{
    pthread_t threads[2];

    pthread_create(&threads[0], NULL, first, NULL);
    pthread_create(&threads[1], NULL, second, NULL);
    pthread_join(threads[0], NULL);
    pthread_join(threads[1], NULL);
}

/* One after the other. */
static void serial(void)
{
    other(400);
    target(800, 0.5);
}

/* The other thread sets the time as soon as this one is faster. */
static void *long_part(void *unused)
{
    target(900, 0.2);
    return NULL;
}

static void *short_part(void *unused)
{
    other(400);
    return NULL;
}

static void limit(void)
{
    run_both(long_part, short_part);
}

/* A faster short part saves nothing. */
static void *short_target(void *unused)
{
    target(400, 0.2);
    return NULL;
}

static void *long_other(void *unused)
{
    other(900);
    return NULL;
}

static void hidden(void)
{
    run_both(long_other, short_target);
}

/* A lock is held for half of the time. Changed: each thread has its own. */
static pthread_mutex_t locks[2] = { PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER };

static void take_turns(int number)
{
    for (int i = 0; i < 40; i++) {
        pthread_mutex_t *lock = &locks[is_changed ? number : 0];
        pthread_mutex_lock(lock);
        other(15);
        pthread_mutex_unlock(lock);
        other(3);
    }
}

static void *first_turns(void *unused)
{
    take_turns(0);
    return NULL;
}

static void *second_turns(void *unused)
{
    take_turns(1);
    return NULL;
}

static void locked(void)
{
    run_both(first_turns, second_turns);
}

/* What is done under the lock is faster. */
static void *turns_of_target(void *unused)
{
    for (int i = 0; i < 40; i++) {
        pthread_mutex_lock(&locks[0]);
        target(15, 0.4);
        pthread_mutex_unlock(&locks[0]);
        other(5);
    }
    return NULL;
}

static void critical(void)
{
    run_both(turns_of_target, turns_of_target);
}

/* A queue of one place. */
static pthread_cond_t changed_queue = PTHREAD_COND_INITIALIZER;
static int is_full;

static void pass(int to)
{
    pthread_mutex_lock(&locks[0]);
    while (is_full == to)
        pthread_cond_wait(&changed_queue, &locks[0]);
    is_full = to;
    pthread_cond_broadcast(&changed_queue);
    pthread_mutex_unlock(&locks[0]);
}

static void *producer(void *unused)
{
    for (int i = 0; i < 50; i++) {
        other(8);
        pass(1);
    }
    return NULL;
}

static void *consumer(void *unused)
{
    for (int i = 0; i < 50; i++) {
        pass(0);
        target(20, 0.2);
    }
    return NULL;
}

static void pipeline(void)
{
    run_both(producer, consumer);
}

/* Phases with a barrier; one thread has more to do in each. */
static pthread_barrier_t barrier;

static void *long_phases(void *unused)
{
    for (int i = 0; i < 30; i++) {
        target(30, 0.5);
        pthread_barrier_wait(&barrier);
    }
    return NULL;
}

static void *short_phases(void *unused)
{
    for (int i = 0; i < 30; i++) {
        other(20);
        pthread_barrier_wait(&barrier);
    }
    return NULL;
}

static void phases(void)
{
    pthread_barrier_init(&barrier, NULL, 2);
    run_both(long_phases, short_phases);
}

/* Looks every 25 ms whether something is there. */
static void naps(void)
{
    for (int i = 0; i < 24; i++) {
        other(15);
        if (!is_changed)
            usleep(25000);
    }
}

/* Each line waits for the disk. */
static void synced(void)
{
    char line[4096] = { 0 }, name[] = "/var/tmp/tacho-what-if-XXXXXX";
    int file = mkstemp(name);

    unlink(name);
    for (int i = 0; i < 150; i++) {
        other(3);
        if (write(file, line, sizeof line) < 0)
            abort();
        if (!is_changed)
            fsync(file);
    }
    close(file);
}

/* A child works while its parent waits. */
static void child(void)
{
    other(300);
    pid_t own = fork();
    if (own == 0) {
        target(700, 0.5);
        _exit(0);
    }
    waitpid(own, NULL, 0);
}

/* Of two children one is faster, which is not the last any more. */
static void children(void)
{
    pid_t own[2];

    for (int i = 0; i < 2; i++)
        if ((own[i] = fork()) == 0) {
            i ? other(500) : target(900, 0.3);
            _exit(0);
        }
    for (int i = 0; i < 2; i++)
        waitpid(own[i], NULL, 0);
}

static const struct {
    const char *name;
    void (*run)(void);
} programs[] = {
    { "serial", serial },     { "limit", limit },       { "hidden", hidden },     { "locked", locked },
    { "critical", critical }, { "pipeline", pipeline }, { "phases", phases },     { "naps", naps },
    { "synced", synced },     { "child", child },       { "children", children },
};

int main(int argc, char **argv)
{
    is_changed = argc > 2;
    for (size_t i = 0; i < sizeof programs / sizeof *programs; i++)
        if (argc > 1 && strcmp(programs[i].name, argv[1]) == 0) {
            programs[i].run();
            return 0;
        }
    return 2;
}
