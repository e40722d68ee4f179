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
#include <unistd.h>

enum { WORKERS = 4, JOBS = 400, ROUNDS = 100000 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static FILE *journal;
static int next_job;

/* Some work that needs nothing but a CPU. */
static unsigned long digest(int job)
{
    unsigned long sum = (unsigned long)job;

    for (int i = 0; i < ROUNDS; i++)
        sum = sum * 6364136223846793005UL + 1442695040888963407UL;
    return sum;
}

/* A line of the journal must be on the disk before the next job is done. */
static void write_journal(int job, unsigned long sum)
{
    fprintf(journal, "%d %lx\n", job, sum);
    fflush(journal);
    fdatasync(fileno(journal));
}

static int take_job(void)
{
    pthread_mutex_lock(&lock);
    int job = next_job < JOBS ? next_job++ : -1;
#ifndef MENDED
    if (job >= 0)
        write_journal(job, digest(job)); /* nobody else can take a job meanwhile */
#endif
    pthread_mutex_unlock(&lock);
    return job;
}

static void *work(void *argument)
{
    int job;

    while ((job = take_job()) >= 0) {
#ifdef MENDED
        write_journal(job, digest(job)); /* stdio has a lock of its own for the line */
#endif
    }
    return argument;
}

int main(void)
{
    pthread_t workers[WORKERS];

    journal = tmpfile();
    if (!journal) {
        perror("queue: cannot make a file for the journal");
        return EXIT_FAILURE;
    }
    for (int i = 0; i < WORKERS; i++)
        if (pthread_create(&workers[i], NULL, work, NULL) != 0)
            return EXIT_FAILURE;
    for (int i = 0; i < WORKERS; i++)
        pthread_join(workers[i], NULL);
    printf("%d jobs done\n", next_job);
    fclose(journal);
    return EXIT_SUCCESS;
}
