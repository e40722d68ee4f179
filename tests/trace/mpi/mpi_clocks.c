/* Collectives on the world and on halves of it, some of which do not synchronise; each rank is the last one in turn. */
#include <mpi.h>
#include <time.h>

int main(int argc, char **argv)
{
    int rank, size, value = 1, sum;
    MPI_Comm half;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
    for (int i = 0; i < 400; i++) {
        const struct timespec pause = { 0, i % size == rank ? 300000 : 0 };
        if (pause.tv_nsec)
            nanosleep(&pause, NULL);
        MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        MPI_Bcast(&value, 1, MPI_INT, i % size, MPI_COMM_WORLD);
        MPI_Barrier(i % 3 ? MPI_COMM_WORLD : half);
    }
    MPI_Comm_free(&half);
    MPI_Finalize();
    return 0;
}
