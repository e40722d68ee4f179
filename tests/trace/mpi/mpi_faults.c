/* Steps that end with an allreduce, and one planted fault: the first argument says which, the second on which rank.
 *
 *     none      all ranks do the same
 *     compute   the rank computes longer than the others, in slow_part()
 *     sleep     it sleeps
 *     message   it computes longer before it sends a message to the next rank, which comes last because it waits for it
 *     pair      the same with a barrier of these two
 *     hang      after some steps it never comes again
 *     other     it calls another operation than the others, and hangs with them
 *     size      it brings another size than the others, and hangs with them */
#include <mpi.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { STEPS = 40, HANG_AT = 10, FAULT_US = 4000, PLAIN_US = 300 };

static long cpu_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

static void sleep_us(long us)
{
    nanosleep(&(struct timespec){ 0, us * 1000 }, NULL);
}

__attribute__((noinline)) static double slow_part(long us)
{
    volatile double sum = 1;
    for (long until = cpu_us() + us; cpu_us() < until;)
        for (int i = 0; i < 1000; i++)
            sum = sum * 1.0000001 + 1e-9;
    return sum;
}

static void message(int rank, int at, int size)
{
    int value = rank;
    if (rank == at)
        slow_part(FAULT_US);
    if (rank == at)
        MPI_Send(&value, 1, MPI_INT, (at + 1) % size, 7, MPI_COMM_WORLD);
    if (rank == (at + 1) % size) {
        MPI_Recv(&value, 1, MPI_INT, at, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        sleep_us(PLAIN_US);
    }
}

static void pair(int rank, int at, int size, MPI_Comm both)
{
    if (rank == at)
        slow_part(FAULT_US);
    if (both != MPI_COMM_NULL)
        MPI_Barrier(both);
    if (rank == (at + 1) % size)
        sleep_us(PLAIN_US);
}

/* Ranks that hang wait to be killed. */
static void hang(const char *fault, int rank, int at)
{
    int values[64] = { 0 }, sums[64];
    write(2, "hangs\n", 6);
    if (strcmp(fault, "hang") == 0 && rank == at)
        for (;;)
            pause();
    if (strcmp(fault, "other") == 0 && rank == at)
        MPI_Bcast(values, 64, MPI_INT, (at + 1) % 2, MPI_COMM_WORLD);
    else
        MPI_Allreduce(values, sums, strcmp(fault, "size") == 0 && rank == at ? 32 : 64, MPI_INT, MPI_SUM,
                      MPI_COMM_WORLD);
    for (;;)
        pause();
}

int main(int argc, char **argv)
{
    const char *fault = argv[1];
    int rank, size, at = atoi(argv[2]);
    double value = 1, sum;
    MPI_Comm both;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_split(MPI_COMM_WORLD, rank == at || rank == (at + 1) % size ? 1 : MPI_UNDEFINED, rank, &both);
    for (int step = 0; step < STEPS; step++) {
        sleep_us(PLAIN_US);
        if (strcmp(fault, "compute") == 0 && rank == at)
            slow_part(FAULT_US);
        else if (strcmp(fault, "sleep") == 0 && rank == at)
            sleep_us(FAULT_US);
        else if (strcmp(fault, "message") == 0)
            message(rank, at, size);
        else if (strcmp(fault, "pair") == 0)
            pair(rank, at, size, both);
        else if (step == HANG_AT &&
                 (strcmp(fault, "hang") == 0 || strcmp(fault, "other") == 0 || strcmp(fault, "size") == 0))
            hang(fault, rank, at);
        MPI_Allreduce(&value, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    }
    MPI_Finalize();
    return 0;
}
