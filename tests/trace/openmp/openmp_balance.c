/* Two regions: one whose threads all sleep as long, more often; and one where the last thread sleeps ten times as long
 * as the others. */
#include <omp.h>
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

int main(void)
{
    for (int i = 0; i < 12; i++)
        even();
    planted();
    for (int i = 0; i < 3; i++)
        even();
    return 0;
}
