/* Four workers take jobs from a queue, and are hardly faster than one: a lock is held for too long. The tutorial
 * (docs/tutorial.md) finds out where, and mends it.
 *
 *     cc -g -O2 -pthread -o queue queue.c
 *     tacho profile -o slow ./queue
 *     cc -g -O2 -pthread -DMENDED -o queue queue.c
 *     tacho profile -o fast ./queue
 *     tacho diff slow.tacho fast.tacho */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { WORKERS = 4, JOBS = 400, ROUNDS = 3000000 };

static pthread_mutex_t queue_lock = PTHREAD_MUTEX_INITIALIZER;
static int next_job;
static unsigned long results[JOBS];

/* Some work that needs nothing but a CPU. */
static unsigned long digest(int job)
{
    unsigned long sum = (unsigned long)job;

    for (int i = 0; i < ROUNDS; i++)
        sum = sum * 6364136223846793005UL + 1442695040888963407UL;
    return sum;
}

/* Returns 0 when there are no more jobs. */
static int do_job(void)
{
    pthread_mutex_lock(&queue_lock);
    int job = next_job < JOBS ? next_job++ : -1;
#ifdef MENDED
    pthread_mutex_unlock(&queue_lock);
    if (job >= 0)
        results[job] = digest(job);
#else
    if (job >= 0)
        results[job] = digest(job); /* nobody else can take a job meanwhile */
    pthread_mutex_unlock(&queue_lock);
#endif
    return job >= 0;
}

static void *work(void *argument)
{
    while (do_job())
        continue;
    return argument;
}

int main(void)
{
    pthread_t workers[WORKERS];
    unsigned long sum = 0;

    for (int i = 0; i < WORKERS; i++)
        if (pthread_create(&workers[i], NULL, work, NULL) != 0)
            return EXIT_FAILURE;
    for (int i = 0; i < WORKERS; i++)
        pthread_join(workers[i], NULL);
    for (int i = 0; i < JOBS; i++)
        sum += results[i];
    printf("%d jobs done, sum %lx\n", next_job, sum);
    return EXIT_SUCCESS;
}
