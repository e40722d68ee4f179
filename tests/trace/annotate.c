/* A function with two loops, of which the first takes three times the CPU time of the second, and a call that takes as
 * much as the second. */
#include <time.h>

static volatile double sink;

static double cpu_time(void)
{
    struct timespec now;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

__attribute__((noinline)) static void helper(void)
{
    for (double end = cpu_time() + 0.1; cpu_time() < end;)
        for (int i = 0; i < 100000; i++)
            sink += i; /* helps */
}

__attribute__((noinline)) static void two_loops(void)
{
    for (double end = cpu_time() + 0.3; cpu_time() < end;)
        for (int i = 0; i < 100000; i++)
            sink += i; /* long */

    for (double end = cpu_time() + 0.1; cpu_time() < end;)
        for (int i = 0; i < 100000; i++)
            sink += i; /* short */
    helper();          /* calls */
    sink++;
}

int main(void)
{
    two_loops();
    return 0;
}
