/* Rank 0 waits for rank 1, which takes three times as long for each message. A line for each, and
 * one for the end: the rank, and when it called MPI by the monotonic clock, ns. */
#include <mpi.h>
#include <stdio.h>
#include <time.h>

enum { MESSAGES = 20, MS = 1000000 };

static void tell(int rank)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    printf("%d %lld\n", rank, now.tv_sec * 1000000000LL + now.tv_nsec);
}

int main(int argc, char **argv)
{
    int rank, data = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 0; i < MESSAGES; i++) {
        const struct timespec work = { 0, (rank == 1 ? 120 : 40) * MS };
        nanosleep(&work, NULL);
        tell(rank);
        if (rank == 1)
            MPI_Send(&data, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
        else
            MPI_Recv(&data, 1, MPI_INT, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    tell(rank);
    MPI_Finalize();
    return 0;
}
