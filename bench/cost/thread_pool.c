/* A thread pool for bench/cost/cpu_programs.py: thread_pool TASKS. Four threads take tasks of some 30 µs from a queue
 * with a mutex and a condition; the main thread fills it and waits when it is full. */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { THREADS = 4, ROOM = 64, BYTES = 4096 };

struct pool {
    pthread_mutex_t lock;
    pthread_cond_t filled, taken;
    uint64_t tasks[ROOM];
    unsigned first, count;
    int is_over;
    uint64_t sum;
};

static uint64_t mix(uint64_t x)
{
    x ^= x >> 33;
    x *= UINT64_C(0xff51afd7ed558ccd);
    return x ^ x >> 29;
}

__attribute__((noinline)) static uint64_t work_on(uint64_t task, int depth)
{
    if (depth > 0)
        return work_on(mix(task), depth - 1) + 1;
    unsigned char *bytes = malloc(BYTES);
    uint64_t sum = task;
    memset(bytes, (int)task, BYTES);
    for (int round = 0; round < 4; round++)
        for (size_t i = 0; i < BYTES; i++)
            sum = mix(sum + bytes[i]);
    free(bytes);
    return sum;
}

static void *take_tasks(void *argument)
{
    struct pool *pool = argument;
    uint64_t sum = 0;
    pthread_mutex_lock(&pool->lock);
    for (;;) {
        while (!pool->count && !pool->is_over)
            pthread_cond_wait(&pool->filled, &pool->lock);
        if (!pool->count)
            break;
        uint64_t task = pool->tasks[pool->first];
        pool->first = (pool->first + 1) % ROOM;
        pool->count--;
        pthread_cond_signal(&pool->taken);
        pthread_mutex_unlock(&pool->lock);
        sum += work_on(task, 12);
        pthread_mutex_lock(&pool->lock);
    }
    pool->sum += sum;
    pthread_mutex_unlock(&pool->lock);
    return NULL;
}

int main(int argc, char **argv)
{
    struct pool pool = { .lock = PTHREAD_MUTEX_INITIALIZER,
                         .filled = PTHREAD_COND_INITIALIZER,
                         .taken = PTHREAD_COND_INITIALIZER };
    pthread_t threads[THREADS];
    long tasks = argc > 1 ? atol(argv[1]) : 100000;
    for (int i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, take_tasks, &pool);
    pthread_mutex_lock(&pool.lock);
    for (long i = 0; i < tasks; i++) {
        while (pool.count == ROOM)
            pthread_cond_wait(&pool.taken, &pool.lock);
        pool.tasks[(pool.first + pool.count++) % ROOM] = (uint64_t)i;
        pthread_cond_signal(&pool.filled);
    }
    pool.is_over = 1;
    pthread_cond_broadcast(&pool.filled);
    pthread_mutex_unlock(&pool.lock);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    printf("%llx\n", (unsigned long long)pool.sum);
    return 0;
}
