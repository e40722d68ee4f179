/* 4 ranks exchange the edges of their parts with both neighbours, then sum up; the last has twice the work. */
#include <mpi.h>
#include <stdlib.h>
#include <time.h>

enum { EDGE = 8192, STEPS = 200 };

static void compute(double milliseconds)
{
    struct timespec from, now;
    clock_gettime(CLOCK_MONOTONIC, &from);
    do
        clock_gettime(CLOCK_MONOTONIC, &now);
    while ((now.tv_sec - from.tv_sec) * 1e3 + (now.tv_nsec - from.tv_nsec) / 1e6 < milliseconds);
}

int main(int argc, char **argv)
{
    static double out[2][EDGE], in[2][EDGE], sum, part = 1;
    int rank, size;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int peers[] = { (rank + size - 1) % size, (rank + 1) % size };
    for (int step = 0; step < STEPS; step++) {
        MPI_Request requests[4];
        for (int side = 0; side < 2; side++) {
            MPI_Irecv(in[side], EDGE, MPI_DOUBLE, peers[side], 1 - side, MPI_COMM_WORLD, &requests[side]);
            MPI_Isend(out[side], EDGE, MPI_DOUBLE, peers[side], side, MPI_COMM_WORLD, &requests[2 + side]);
        }
        compute(rank == size - 1 ? 2 : 1);
        MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
        MPI_Allreduce(&part, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    }
    return MPI_Finalize();
}
