/* An OpenMP program that knows how often it does what, and prints it: a line "name count" for each construct, counted
 * by the program itself, and "before after" in CLOCK_MONOTONIC ns around one region. */
#include <omp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { THREADS = 3, ROUNDS = 5 };

static long regions, tasks_of_threads, barriers, criticals, locks, nested_locks, made, run, masters, singles;
static volatile double sink;

static void add(long *count)
{
    __atomic_fetch_add(count, 1, __ATOMIC_RELAXED);
}

static int64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

static void barriers_in_a_region(void)
{
    add(&regions);
#pragma omp parallel num_threads(THREADS)
    {
        add(&tasks_of_threads);
        add(&barriers);
#pragma omp barrier
        add(&barriers);
#pragma omp barrier
        sink += 1;
    }
}

static void locks_in_a_region(omp_lock_t *lock, omp_nest_lock_t *nested)
{
    add(&regions);
#pragma omp parallel num_threads(THREADS)
    {
        add(&tasks_of_threads);
#pragma omp critical(first)
        add(&criticals);
#pragma omp critical
        add(&criticals);
        omp_set_lock(lock);
        add(&locks);
        omp_unset_lock(lock);
        omp_set_nest_lock(nested);
        omp_set_nest_lock(nested);
        __atomic_fetch_add(&nested_locks, 2, __ATOMIC_RELAXED);
        omp_unset_nest_lock(nested);
        omp_unset_nest_lock(nested);
    }
}

static void tasks_in_a_region(void)
{
    add(&regions);
#pragma omp parallel num_threads(THREADS)
    {
        add(&tasks_of_threads);
#pragma omp single
        {
            add(&singles);
            for (int i = 0; i < 10; i++) {
                add(&made);
#pragma omp task
                add(&run);
            }
#pragma omp taskwait
        }
#pragma omp master
        add(&masters);
    }
}

static double loops(void)
{
    double sum = 0;
    add(&regions);
#pragma omp parallel for num_threads(THREADS) schedule(dynamic, 4) reduction(+ : sum)
    for (int i = 0; i < 64; i++)
        sum += i;
    return sum;
}

int main(void)
{
    omp_lock_t lock;
    omp_nest_lock_t nested;
    double sum = 0;
    omp_set_dynamic(0);
    omp_init_lock(&lock);
    omp_init_nest_lock(&nested);
    int64_t before = now_ns();
    barriers_in_a_region();
    int64_t after = now_ns();
    for (int i = 1; i < ROUNDS; i++)
        barriers_in_a_region();
    for (int i = 0; i < ROUNDS; i++) {
        locks_in_a_region(&lock, &nested);
        tasks_in_a_region();
        sum += loops();
    }
    omp_destroy_lock(&lock);
    omp_destroy_nest_lock(&nested);
    printf("before %lld\nafter %lld\n", (long long)before, (long long)after);
    printf("threads %d\nregions %ld\nimplicit_tasks %ld\nbarriers %ld\ncriticals %ld\nlocks %ld\nnested_locks %ld\n",
           THREADS, regions, tasks_of_threads + ROUNDS * THREADS, barriers, criticals, locks, nested_locks);
    printf("made %ld\nrun %ld\nmasters %ld\nsingles %ld\nsum %.0f\n", made, run, masters, singles, sum);
    return 0;
}
