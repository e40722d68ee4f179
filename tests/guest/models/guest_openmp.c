/* A program with OpenMP: what it computes, and what it sees of itself around its regions. */
#include "guest.h"

#include <omp.h>

static long work(int threads)
{
    long sum = 0;
    omp_lock_t lock;
    omp_init_lock(&lock);
#pragma omp parallel num_threads(threads)
    {
#pragma omp for schedule(dynamic, 3) reduction(+ : sum)
        for (int i = 0; i < 100; i++)
            sum += i;
#pragma omp critical
        usleep(100);
        omp_set_lock(&lock);
        omp_unset_lock(&lock);
#pragma omp single
        {
#pragma omp task
            usleep(100);
        }
    }
    omp_destroy_lock(&lock);
    return sum;
}

static int child_of_a_team(void)
{
    return 3;
}

PROGRAM(openmp_regions)
{
    say("sum %ld", work(3));
    say("sum %ld, threads of a region %d, of the machine %d", work(2), omp_get_max_threads(), omp_get_num_procs());
    in_child("child", child_of_a_team);
    return 0;
}

PROGRAM(openmp_exit_in_a_region)
{
#pragma omp parallel num_threads(2)
#pragma omp master
    exit(6);
    return 0;
}

static void handle(int signal_number)
{
    static const char text[] = "signal in a region\n";
    if (signal_number == SIGUSR1 && write(1, text, sizeof text - 1) < 0)
        _exit(9);
}

PROGRAM(openmp_signal_in_a_region)
{
    signal(SIGUSR1, handle);
#pragma omp parallel num_threads(2)
#pragma omp master
    raise(SIGUSR1);
    return 0;
}
