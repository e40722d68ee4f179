/* A library with a region: each thread counts itself, by the number that its runtime gives it. */
#include <omp.h>

#ifndef NAME
#define NAME has_the_region
#endif

int run_a_region(void);

static __attribute__((noinline)) void NAME(int *seen)
{
#pragma omp parallel num_threads(2)
    seen[omp_get_thread_num() & 1]++;
    seen[0] += 0;
}

int run_a_region(void)
{
    int seen[2] = { 0, 0 };
    NAME(seen);
    return seen[0] == 1 && seen[1] == 1 ? 2 : -1;
}
