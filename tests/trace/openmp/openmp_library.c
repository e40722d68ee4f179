/* A library with a region: each thread counts itself, by the number that its runtime gives it. */
#include <omp.h>

int run_a_region(void);

int run_a_region(void)
{
    int seen[2] = { 0, 0 };
#pragma omp parallel num_threads(2)
    seen[omp_get_thread_num() & 1]++;
    return seen[0] == 1 && seen[1] == 1 ? 2 : -1;
}
