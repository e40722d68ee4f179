/* For bench/mpi.py: what calls of MPI take. Built with an MPI's own compiler.
 *
 *     mpi_pace pingpong CALLS   two ranks: 8 bytes back and forth; a round is a send and a receive of each
 *     mpi_pace test CALLS       one rank: MPI_Test() of a receive that nothing matches
 *
 * Rank 0 prints nanoseconds a call of a hundred parts: the 5th percentile, which other programs disturb least, and the
 * median. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { PARTS = 100, CALLS_IN_ROUND = 4, WARM_UP = 1000 };

static double now_ns(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

static int by_value(const void *a, const void *b)
{
    double left = *(const double *)a, right = *(const double *)b;

    return (left > right) - (left < right);
}

static void exchange(int rank, long rounds)
{
    long long word = 0;

    for (long i = 0; i < rounds; i++) {
        if (rank == 0)
            MPI_Send(&word, 8, MPI_BYTE, 1, 1, MPI_COMM_WORLD);
        MPI_Recv(&word, 8, MPI_BYTE, 1 - rank, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (rank == 1)
            MPI_Send(&word, 8, MPI_BYTE, 0, 1, MPI_COMM_WORLD);
    }
}

static void poll(MPI_Request *request, long calls)
{
    int flag;

    for (long i = 0; i < calls; i++)
        MPI_Test(request, &flag, MPI_STATUS_IGNORE);
}

int main(int argc, char **argv)
{
    long calls = argc > 2 ? atol(argv[2]) : 100000;
    int rank, is_test = argc > 1 && strcmp(argv[1], "test") == 0;
    double times[PARTS];
    long long word;
    MPI_Request request;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (is_test)
        MPI_Irecv(&word, 8, MPI_BYTE, rank, 7, MPI_COMM_WORLD, &request);
    is_test ? poll(&request, WARM_UP) : exchange(rank, WARM_UP);
    for (int i = 0; i < PARTS; i++) {
        double begin = now_ns();
        is_test ? poll(&request, calls / PARTS) : exchange(rank, calls / PARTS / CALLS_IN_ROUND);
        times[i] = (now_ns() - begin) / (double)(calls / PARTS);
    }
    qsort(times, PARTS, sizeof times[0], by_value);
    if (is_test) {
        MPI_Cancel(&request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    if (rank == 0)
        printf("%.1f %.1f\n", times[PARTS / 20], times[PARTS / 2]);
    return MPI_Finalize();
}
