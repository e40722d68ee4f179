/* An MPI of a few functions, with 0 to 13 parameters. Each returns RESULT if its parameters are those of the caller,
 * and then changes them, as a function may. */
#include "words_calls.h"

#define CHECK(parameter, place) bad |= parameter != place, parameter = -1
#define END() *(volatile int *)&bad ? 1 : RESULT

int MPI_Finalize(void)
{
    return RESULT;
}
int MPI_Send(long a, int b, long c, int d, int e, long f)
{
    int bad = 0;
    CHECK(a, 1), CHECK(b, 2), CHECK(c, 3), CHECK(d, 4), CHECK(e, 5), CHECK(f, 6);
    return END();
}
int MPI_Recv(long a, int b, long c, int d, int e, long f, int *status)
{
    int bad = 0;
    CHECK(a, 1), CHECK(b, 2), CHECK(c, 3), CHECK(d, 4), CHECK(e, 5), CHECK(f, 6);
    if (status)
        *status = 9;
    return END();
}
int MPI_Gatherv(long a, int b, long c, long d, long e, long f, long g, int h, long i)
{
    int bad = 0;
    CHECK(a, 1), CHECK(b, 2), CHECK(c, 3), CHECK(d, 4), CHECK(e, 5), CHECK(f, 6), CHECK(g, 7), CHECK(h, 8), CHECK(i, 9);
    return END();
}
int MPI_Rget_accumulate(long a, int b, long c, long d, int e, long f, int g, long h, int i, long j, long k, long l,
                        long m)
{
    volatile int bad = 0;
    CHECK(a, 1), CHECK(b, 2), CHECK(c, 3), CHECK(d, 4), CHECK(e, 5), CHECK(f, 6), CHECK(g, 7), CHECK(h, 8), CHECK(i, 9);
    CHECK(j, 10), CHECK(k, 11), CHECK(l, 12), CHECK(m, 13);
    return END();
}

/* The profiling names, as most MPIs have them. */
int PMPI_Gatherv(long, int, long, long, long, long, long, int, long) __attribute__((alias("MPI_Gatherv")));
int PMPI_Rget_accumulate(long, int, long, long, int, long, int, long, int, long, long, long, long)
    __attribute__((alias("MPI_Rget_accumulate")));
