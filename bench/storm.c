/* Events as fast as threads can make them, or at a pace: the load for bench/pipeline.py. Prints what it did as one line
 * of JSON: how many events, what each cost its thread, and when (CLOCK_MONOTONIC) the last one was over.
 *
 *     storm SOURCE THREADS EVENTS [EVENTS_PER_SECOND]     both numbers per thread; sources: see the table below
 *
 * Bare, it measures the program itself; under `tacho profile` the same plus us. It knows nothing of Tacho. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "../tests/trace/nvtx_client.h"

#define BATCH 64 /* events between two looks at the clock when there is a pace to keep */

struct worker {
    pthread_t thread;
    const struct source *source;
    uint64_t events, per_second;
    int64_t wall_ns, cpu_ns;
    _Alignas(64) pthread_mutex_t mutex; /* its own, hence always free */
};

static pthread_barrier_t ready;
static int zero; /* /dev/zero */

static int64_t now_ns(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

/* ---- Sources: so many events, nothing else in the loop --------------------------------------------------------- */

static void push_pop(struct worker *worker, uint64_t count)
{
    for (uint64_t i = 0; i < count; i++) {
        nvtx_push("forward");
        nvtx_pop();
    }
}

static void marks(struct worker *worker, uint64_t count)
{
    for (uint64_t i = 0; i < count; i++)
        nvtx_mark("forward");
}

static void reads(struct worker *worker, uint64_t count)
{
    char byte;
    for (uint64_t i = 0; i < count; i++)
        if (read(zero, &byte, 1) != 1)
            abort();
}

static void locks(struct worker *worker, uint64_t count)
{
    for (uint64_t i = 0; i < count; i++) {
        pthread_mutex_lock(&worker->mutex);
        pthread_mutex_unlock(&worker->mutex);
    }
}

static const struct source {
    const char *name;
    void (*produce)(struct worker *worker, uint64_t count);
} sources[] = {
    { "nvtx", push_pop }, /* one event is a range: push and pop */
    { "mark", marks },
    { "read", reads },
    { "mutex", locks },   /* one event is a lock and its unlock */
};

/* ---- Threads --------------------------------------------------------------------------------------------------- */

/* The time inside the batches; the waiting between them is not the events'. */
static int64_t produce_at_pace(struct worker *worker)
{
    int64_t start = now_ns(CLOCK_MONOTONIC), inside = 0, now = start;
    for (uint64_t done = 0; done < worker->events;) {
        uint64_t count = worker->events - done < BATCH ? worker->events - done : BATCH;
        int64_t before = now;
        worker->source->produce(worker, count);
        now = now_ns(CLOCK_MONOTONIC);
        inside += now - before;
        done += count;
        int64_t due = start + (int64_t)((double)done * 1e9 / (double)worker->per_second);
        while (now < due)
            now = now_ns(CLOCK_MONOTONIC);
    }
    return inside;
}

static void *work(void *argument)
{
    struct worker *worker = argument;
    pthread_barrier_wait(&ready);
    int64_t wall = now_ns(CLOCK_MONOTONIC), cpu = now_ns(CLOCK_THREAD_CPUTIME_ID);
    if (worker->per_second) {
        worker->wall_ns = produce_at_pace(worker);
        worker->cpu_ns = worker->wall_ns; /* CPU time cannot be had so often: its clock costs a system call */
        return NULL;
    }
    worker->source->produce(worker, worker->events);
    worker->cpu_ns = now_ns(CLOCK_THREAD_CPUTIME_ID) - cpu;
    worker->wall_ns = now_ns(CLOCK_MONOTONIC) - wall;
    return NULL;
}

static void report(const struct source *source, const struct worker *workers, int count)
{
    double wall = 0, cpu = 0, events = 0;
    for (int i = 0; i < count; i++) {
        wall += (double)workers[i].wall_ns;
        cpu += (double)workers[i].cpu_ns;
        events += (double)workers[i].events;
    }
    printf("{\"source\": \"%s\", \"threads\": %d, \"produced\": %.0f, \"wall_ns_per_event\": %.3f, "
           "\"cpu_ns_per_event\": %.3f, \"end_monotonic_ns\": %lld}\n",
           source->name, count, events, wall / events, cpu / events, (long long)now_ns(CLOCK_MONOTONIC));
    fflush(stdout);
}

static const struct source *find_source(const char *name)
{
    for (size_t i = 0; i < sizeof sources / sizeof *sources; i++)
        if (!strcmp(sources[i].name, name))
            return &sources[i];
    return NULL;
}

int main(int argc, char **argv)
{
    const struct source *source = argc >= 4 ? find_source(argv[1]) : NULL;
    int count = source ? atoi(argv[2]) : 0;
    struct worker *workers = count > 0 ? aligned_alloc(64, (size_t)count * sizeof *workers) : NULL;
    zero = open("/dev/zero", O_RDONLY | O_CLOEXEC);
    if (!workers || zero < 0) {
        fprintf(stderr, "use: storm nvtx|mark|read|mutex THREADS EVENTS [EVENTS_PER_SECOND]\n");
        return 2;
    }
    pthread_barrier_init(&ready, NULL, (unsigned)count);
    for (int i = 0; i < count; i++) {
        workers[i] = (struct worker){
            .source = source,
            .events = strtoull(argv[3], NULL, 10),
            .per_second = argc > 4 ? strtoull(argv[4], NULL, 10) : 0,
        };
        pthread_mutex_init(&workers[i].mutex, NULL);
        errno = pthread_create(&workers[i].thread, NULL, work, &workers[i]);
        if (errno) {
            perror("pthread_create");
            return 1;
        }
    }
    for (int i = 0; i < count; i++)
        pthread_join(workers[i].thread, NULL);
    report(source, workers, count);
    return 0;
}
