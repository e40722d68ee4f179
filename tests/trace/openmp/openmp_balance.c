/* Two regions: one whose threads all sleep as long, more often; and one where the last thread sleeps ten times as long
 * as the others. Prints the time of each run of a region by omp_get_wtime(), in ns: a line for each. */
#include <omp.h>
#include <stdio.h>
#include <time.h>

static void sleep_ms(int ms)
{
    const struct timespec time = { 0, ms * 1000000L };
    nanosleep(&time, NULL);
}

static void even(void)
{
#pragma omp parallel num_threads(3)
    sleep_ms(20);
}

static void planted(void)
{
#pragma omp parallel num_threads(3)
    sleep_ms(omp_get_thread_num() == 2 ? 200 : 20);
}

static void timed(void (*region)(void))
{
    double start = omp_get_wtime();
    region();
    double end = omp_get_wtime();
    printf("%.0f\n", (end - start) * 1e9);
}

int main(void)
{
    for (int i = 0; i < 12; i++)
        timed(even);
    timed(planted);
    for (int i = 0; i < 3; i++)
        timed(even);
    return 0;
}
