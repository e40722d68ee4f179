/* Two regions: one whose threads all sleep as long, four times, which takes longest in all; and one where the last
 * thread sleeps fifteen times as long as the others. On a busy machine threads wake up late, so the sleeps are long and
 * few. Prints the time of each run of a region by omp_get_wtime(), in ns: a line for each. */
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
    sleep_ms(100);
}

static void planted(void)
{
#pragma omp parallel num_threads(3)
    sleep_ms(omp_get_thread_num() == 2 ? 300 : 20);
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
    for (int i = 0; i < 3; i++)
        timed(even);
    timed(planted);
    timed(even);
    return 0;
}
