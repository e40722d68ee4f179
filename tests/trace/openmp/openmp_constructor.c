/* A library whose constructor runs a region: the thread that loads it holds the loader's lock until all threads of the
 * region are done, so none of them may ask the loader for anything. */
#include <omp.h>

static int sum;
int run_a_region(void);

__attribute__((constructor)) static void start(void)
{
#pragma omp parallel for schedule(dynamic) num_threads(2) reduction(+ : sum)
    for (int i = 0; i < 100; i++)
        sum += i;
#pragma omp parallel num_threads(2)
    {
#pragma omp critical
        sum += 25;
#pragma omp barrier
    }
}

int run_a_region(void)
{
    return sum == 5000 ? 2 : -1;
}
