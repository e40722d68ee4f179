/* Two ranks of MPI send each other messages of known sizes, each MPI_Send() inside an NVTX range. */
#include <mpi.h>
#include <stdio.h>

#include "../nvtx_client.h"

enum { MESSAGES = 50 };

int main(int argc, char **argv)
{
    static char buffer[MESSAGES * 10];
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 0; i < MESSAGES; i++) {
        if (i % 2 == rank) {
            nvtx_push("send");
            MPI_Send(buffer, i * 10, MPI_CHAR, 1 - rank, 7, MPI_COMM_WORLD);
            nvtx_pop();
        } else
            MPI_Recv(buffer, i * 10, MPI_CHAR, 1 - rank, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    MPI_Finalize();
    printf("rank %d ends\n", rank);
    return 0;
}
