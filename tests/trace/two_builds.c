/* Computes for a while, in two functions: two_builds WORK OTHER, in millions of steps. */
#include <stdlib.h>

static volatile double sum;

static __attribute__((noinline)) void compute(long steps)
{
    for (long i = 0; i < steps; i++)
        sum = sum + (double)i * 0.5;
}

static __attribute__((noinline)) void work(long steps)
{
    for (long i = 0; i < steps; i++)
        sum = sum + (double)i * 0.25;
}

int main(int argc, char **argv)
{
    enum { MILLION = 1000000 };

    if (argc != 3)
        return 2;
    work(atol(argv[1]) * MILLION);
    compute(atol(argv[2]) * MILLION);
    return 0;
}
