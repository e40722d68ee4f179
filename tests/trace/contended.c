/* Three workers and one lock: each takes it five times and computes while it holds it, so that the others wait.
 * Prints the ids of the workers. With an argument, all of it is done by a forked child. */
#include <pthread.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { WORKERS = 3, TURNS = 5, TURN_MS = 20 };

static pthread_mutex_t queue_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t begin;
static volatile unsigned long sum;

static double cpu_ms(void)
{
    struct timespec used;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
    return (double)used.tv_sec * 1e3 + (double)used.tv_nsec / 1e6;
}

__attribute__((noinline)) static void crunch(void)
{
    for (double until = cpu_ms() + TURN_MS; cpu_ms() < until;)
        for (unsigned long i = 0; i < 100000; i++)
            sum += i; /* computes */
}

__attribute__((noinline)) static void take_turn(void)
{
    pthread_mutex_lock(&queue_lock); /* waits */
    crunch();
    pthread_mutex_unlock(&queue_lock);
}

static void *work(void *argument)
{
    char name[16];

    snprintf(name, sizeof name, "worker%d", (int)(long)argument);
    pthread_setname_np(pthread_self(), name);
    printf("%s (%d)\n", name, (int)syscall(SYS_gettid));
    pthread_barrier_wait(&begin);
    for (int i = 0; i < TURNS; i++)
        take_turn();
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t threads[WORKERS];
    pid_t child = argc > 1 ? fork() : 0;
    int status = 1;

    if (child)
        return waitpid(child, &status, 0) == child && status == 0 ? 0 : 1;
    pthread_barrier_init(&begin, NULL, WORKERS);
    for (long i = 0; i < WORKERS; i++)
        pthread_create(&threads[i], NULL, work, (void *)i);
    for (int i = 0; i < WORKERS; i++)
        pthread_join(threads[i], NULL);
    return 0;
}
