/* The pool runs one loop at a time. Its threads take iterations from one atomic counter.
 *
 * The lock guards generation, running and quit. Raising generation publishes a loop. Each thread takes part in each
 * generation exactly once, and the caller returns when running is back at 0, so the loop's data outlives all use.
 * The caller of the loop in progress holds `busy`, which is only ever tried, never waited for. */
#include "parallel.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>

struct parallel {
    int workers;
    int threads; /* started: workers - 1, or fewer if threads could not be created */
    pthread_mutex_t busy;
    pthread_mutex_t lock;
    pthread_cond_t start, done;
    unsigned generation;
    int running;
    int quit;
    size_t count;
    void (*body)(void *argument, int worker, size_t i);
    void *argument;
    _Atomic size_t next;
    struct worker {
        struct parallel *pool;
        pthread_t thread;
        int number;
    } *worker;
};

int parallel_cores(void)
{
    cpu_set_t set;
    int count = sched_getaffinity(0, sizeof set, &set) ? 1 : CPU_COUNT(&set);
    return count > 0 ? count : 1;
}

struct parallel *parallel_new(int workers)
{
    struct parallel *pool = calloc(1, sizeof *pool);
    if (!pool)
        return NULL;
    pool->workers = workers > 0 ? workers : parallel_cores();
    pool->worker = calloc((size_t)pool->workers, sizeof *pool->worker);
    if (!pool->worker) {
        free(pool);
        return NULL;
    }
    pthread_mutex_init(&pool->busy, NULL);
    pthread_mutex_init(&pool->lock, NULL);
    pthread_cond_init(&pool->start, NULL);
    pthread_cond_init(&pool->done, NULL);
    return pool;
}

static void parallel_take_turns(struct parallel *pool, int number)
{
    for (;;) {
        size_t i = atomic_fetch_add_explicit(&pool->next, 1, memory_order_relaxed);
        if (i >= pool->count)
            return;
        pool->body(pool->argument, number, i);
    }
}

static void *thread_main(void *argument)
{
    struct worker *worker = argument;
    struct parallel *pool = worker->pool;
    unsigned seen = 0;
    pthread_mutex_lock(&pool->lock);
    for (;;) {
        while (pool->generation == seen && !pool->quit)
            pthread_cond_wait(&pool->start, &pool->lock);
        if (pool->quit)
            break;
        seen = pool->generation;
        pthread_mutex_unlock(&pool->lock);
        parallel_take_turns(pool, worker->number);
        pthread_mutex_lock(&pool->lock);
        if (!--pool->running)
            pthread_cond_signal(&pool->done);
    }
    pthread_mutex_unlock(&pool->lock);
    return NULL;
}

/* The threads block all signals, which belong to the program that uses the pool. */
static void start_threads(struct parallel *pool)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    while (pool->threads < pool->workers - 1) {
        struct worker *worker = &pool->worker[pool->threads];
        *worker = (struct worker){ .pool = pool, .number = pool->threads + 1 };
        if (pthread_create(&worker->thread, NULL, thread_main, worker))
            break;
        pool->threads++;
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

void parallel_for(struct parallel *pool, size_t count, void (*body)(void *argument, int worker, size_t i),
                  void *argument)
{
    if (!pool || pool->workers == 1 || count < 2 || pthread_mutex_trylock(&pool->busy)) {
        for (size_t i = 0; i < count; i++)
            body(argument, 0, i);
        return;
    }
    if (!pool->generation)
        start_threads(pool);
    pthread_mutex_lock(&pool->lock);
    pool->count = count;
    pool->body = body;
    pool->argument = argument;
    atomic_store_explicit(&pool->next, 0, memory_order_relaxed);
    pool->running = pool->threads;
    pool->generation++;
    pthread_cond_broadcast(&pool->start);
    pthread_mutex_unlock(&pool->lock);

    parallel_take_turns(pool, 0);

    pthread_mutex_lock(&pool->lock);
    while (pool->running)
        pthread_cond_wait(&pool->done, &pool->lock);
    pthread_mutex_unlock(&pool->lock);
    pthread_mutex_unlock(&pool->busy);
}

int parallel_workers(const struct parallel *pool)
{
    return pool ? pool->workers : 1;
}

void parallel_delete(struct parallel *pool)
{
    if (!pool)
        return;
    pthread_mutex_lock(&pool->lock);
    pool->quit = 1;
    pthread_cond_broadcast(&pool->start);
    pthread_mutex_unlock(&pool->lock);
    for (int i = 0; i < pool->threads; i++)
        pthread_join(pool->worker[i].thread, NULL);
    pthread_cond_destroy(&pool->start);
    pthread_cond_destroy(&pool->done);
    pthread_mutex_destroy(&pool->lock);
    pthread_mutex_destroy(&pool->busy);
    free(pool->worker);
    free(pool);
}
