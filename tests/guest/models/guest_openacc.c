/* A program with OpenACC, on the CPU. */
#include "guest.h"

PROGRAM(openacc_loop)
{
    int values[100];
    long sum = 0;
#pragma acc parallel loop copyout(values)
    for (int i = 0; i < 100; i++)
        values[i] = i;
#pragma acc data copyin(values)
    {
#pragma acc update self(values)
    }
    for (int i = 0; i < 100; i++)
        sum += values[i];
    say("sum %ld", sum);
    return 0;
}
