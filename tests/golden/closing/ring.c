/* Two ranks that work and exchange what they have: rank 1 has three times the work. */
#include <mpi.h>
#include <stdio.h>

static double work(long count)
{
    double sum = 0;

    for (long i = 1; i <= count; i++)
        sum += 1.0 / (double)(i * i);
    return sum;
}

int main(int argc, char **argv)
{
    double own = 0, other;
    int rank;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int step = 0; step < 20; step++) {
        own += work(rank ? 30000000 : 10000000);
        MPI_Sendrecv(&own, 1, MPI_DOUBLE, !rank, 0, &other, 1, MPI_DOUBLE, !rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    if (!rank)
        printf("%.6f\n", own + other);
    MPI_Finalize();
    return 0;
}
