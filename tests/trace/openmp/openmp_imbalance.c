/* A region whose last thread sleeps three times as long as the two others, four times. A line for each instance: how
 * long each thread was at work by the monotonic clock, ns. Then waits for a lock: many short ones, and a long one. */
#include <omp.h>
#include <stdio.h>
#include <time.h>

enum { THREADS = 3, INSTANCES = 4, SHORT_WAITS = 100 };
static long long worked_ns[THREADS];

static long long now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000000000LL + now.tv_nsec;
}

static void sleep_ms(int ms)
{
    const struct timespec time = { 0, ms * 1000000L };
    nanosleep(&time, NULL);
}

static void work(void)
{
#pragma omp parallel num_threads(THREADS)
    {
        int thread = omp_get_thread_num();
        long long start = now_ns();
        sleep_ms(thread == THREADS - 1 ? 300 : 100);
        worked_ns[thread] = now_ns() - start;
    }
}

static void locked(void)
{
    static int count;
    omp_lock_t lock;
    omp_init_lock(&lock);
    for (int i = 0; i < SHORT_WAITS; i++) {
#pragma omp critical
        count++;
        omp_set_lock(&lock);
        omp_unset_lock(&lock);
    }
    omp_set_lock(&lock);
#pragma omp parallel num_threads(2)
    if (omp_get_thread_num() == 0) {
        sleep_ms(20);
        omp_unset_lock(&lock);
    } else {
        omp_set_lock(&lock);
        omp_unset_lock(&lock);
    }
}

int main(int argc, char **argv)
{
    for (int i = 0; i < INSTANCES && argc < 2; i++) {
        work();
        printf("%lld %lld %lld\n", worked_ns[0], worked_ns[1], worked_ns[2]);
    }
    if (argc > 1)
        locked();
    return 0;
}
