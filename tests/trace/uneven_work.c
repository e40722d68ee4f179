/* uneven_work threads|processes SECONDS…: workers, each with as much CPU time of its own. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { MOST = 16 };
static volatile double sink;

static double cpu_time(void)
{
    struct timespec now;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

__attribute__((noinline)) static void crunch(double seconds)
{
    double end = cpu_time() + seconds;

    while (cpu_time() < end)
        for (int i = 0; i < 10000; i++)
            sink += i * 0.5; /* crunches */
}

static void *run(void *seconds)
{
    crunch(*(double *)seconds);
    return NULL;
}

int main(int argc, char **argv)
{
    int are_threads = strcmp(argv[1], "threads") == 0, count = argc - 2;
    double seconds[MOST];
    pthread_t threads[MOST];

    for (int i = 0; i < count; i++) {
        seconds[i] = atof(argv[i + 2]);
        if (are_threads)
            pthread_create(&threads[i], NULL, run, &seconds[i]);
        else if (fork() == 0) {
            crunch(seconds[i]);
            _exit(0);
        }
    }
    for (int i = 0; i < count; i++)
        are_threads ? pthread_join(threads[i], NULL) : wait(NULL);
    return 0;
}
