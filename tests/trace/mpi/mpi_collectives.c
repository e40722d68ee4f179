/* Collectives of every kind, blocking, in place and nonblocking, with their ledger. What is noted as sent and received
 * is what the arguments say, at the root only where only the root has them. */
#include "mpi_ledger.h"

enum { MOST = 16, ROOT = 1 };

static int sent[1024], got[1024], ones[MOST], counts[MOST], places[MOST], byte_places[MOST], total;
static MPI_Datatype ints[MOST];

/* Rank i gets, or gives, i + 1 ints. */
static void set_counts(void)
{
    total = 0;
    for (int i = 0; i < size; i++) {
        counts[i] = i + 1;
        ones[i] = rank + 1;
        places[i] = total;
        byte_places[i] = total * PIECE;
        ints[i] = MPI_INT;
        total += counts[i];
    }
}

static void gathering(void)
{
    int is_root = rank == ROOT;

    COLL(MPI_Gather, (sent, 3, MPI_INT, got, 3, MPI_INT, ROOT, MPI_COMM_WORLD), .bytes = 12,
         .received = is_root ? 12 * size : 0, .root = ROOT, .members = world);
    COLL(MPI_Gatherv, (sent, rank + 1, MPI_INT, got, counts, places, MPI_INT, ROOT, MPI_COMM_WORLD),
         .bytes = 4 * (rank + 1), .received = is_root ? 4 * total : 0, .root = ROOT, .members = world);
    COLL(MPI_Allgather, (sent, 4, MPI_INT, got, 4, MPI_INT, MPI_COMM_WORLD), .bytes = 16, .received = 16 * size,
         .members = world);
    COLL(MPI_Allgatherv, (sent, rank + 1, MPI_INT, got, counts, places, MPI_INT, MPI_COMM_WORLD),
         .bytes = 4 * (rank + 1), .received = 4 * total, .members = world);
}

static void scattering(void)
{
    int is_root = rank == ROOT;

    COLL(MPI_Scatter, (sent, 5, MPI_INT, got, 5, MPI_INT, ROOT, MPI_COMM_WORLD), .bytes = is_root ? 20 * size : 0,
         .received = 20, .root = ROOT, .members = world);
    COLL(MPI_Scatterv, (sent, counts, places, MPI_INT, got, rank + 1, MPI_INT, ROOT, MPI_COMM_WORLD),
         .bytes = is_root ? 4 * total : 0, .received = 4 * (rank + 1), .root = ROOT, .members = world);
    COLL(MPI_Bcast, (sent, 6, MPI_INT, ROOT, MPI_COMM_WORLD), .bytes = is_root ? 24 : 0, .received = is_root ? 0 : 24,
         .root = ROOT, .members = world);
}

static void exchanging(void)
{
    COLL(MPI_Alltoall, (sent, 2, MPI_INT, got, 2, MPI_INT, MPI_COMM_WORLD), .bytes = 8 * size, .received = 8 * size,
         .members = world);
    COLL(MPI_Alltoallv, (sent, counts, places, MPI_INT, got, ones, places, MPI_INT, MPI_COMM_WORLD), .bytes = 4 * total,
         .received = 4 * size * (rank + 1), .members = world);
    COLL(MPI_Alltoallw, (sent, counts, byte_places, ints, got, ones, byte_places, ints, MPI_COMM_WORLD),
         .bytes = 4 * total, .received = 4 * size * (rank + 1), .members = world);
}

static void reducing(void)
{
    int is_root = rank == ROOT;

    COLL(MPI_Reduce, (sent, got, 7, MPI_INT, MPI_SUM, ROOT, MPI_COMM_WORLD), .bytes = 28, .received = is_root ? 28 : 0,
         .root = ROOT, .members = world);
    COLL(MPI_Allreduce, (sent, got, 8, MPI_INT, MPI_MAX, MPI_COMM_WORLD), .bytes = 32, .received = 32,
         .members = world);
    COLL(MPI_Reduce_scatter, (sent, got, counts, MPI_INT, MPI_SUM, MPI_COMM_WORLD), .bytes = 4 * total,
         .received = 4 * (rank + 1), .members = world);
    COLL(MPI_Reduce_scatter_block, (sent, got, 9, MPI_INT, MPI_SUM, MPI_COMM_WORLD), .bytes = 36 * size, .received = 36,
         .members = world);
    COLL(MPI_Scan, (sent, got, 10, MPI_INT, MPI_SUM, MPI_COMM_WORLD), .bytes = 40, .received = 40, .members = world);
    COLL(MPI_Exscan, (sent, got, 11, MPI_INT, MPI_SUM, MPI_COMM_WORLD), .bytes = 44, .received = 44, .members = world);
}

/* The data is in the receive buffer already: what is sent is that block. The root of a gather or scatter moves nothing
 * to itself. */
static void in_place(void)
{
    int is_root = rank == ROOT;

    COLL(MPI_Allreduce, (MPI_IN_PLACE, got, 3, MPI_INT, MPI_SUM, MPI_COMM_WORLD), .bytes = 12, .received = 12,
         .members = world);
    COLL(MPI_Reduce, (is_root ? MPI_IN_PLACE : sent, got, 3, MPI_INT, MPI_SUM, ROOT, MPI_COMM_WORLD), .bytes = 12,
         .received = is_root ? 12 : 0, .root = ROOT, .members = world);
    COLL(MPI_Allgather, (MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, got, 4, MPI_INT, MPI_COMM_WORLD), .bytes = 16,
         .received = 16 * size, .members = world);
    COLL(MPI_Alltoall, (MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, got, 2, MPI_INT, MPI_COMM_WORLD), .bytes = 8 * size,
         .received = 8 * size, .members = world);
    COLL(MPI_Gather, (is_root ? MPI_IN_PLACE : sent, 3, MPI_INT, got, 3, MPI_INT, ROOT, MPI_COMM_WORLD),
         .bytes = is_root ? 0 : 12, .received = is_root ? 12 * size : 0, .root = ROOT, .members = world);
    COLL(MPI_Scatter, (sent, 5, MPI_INT, is_root ? MPI_IN_PLACE : got, 5, MPI_INT, ROOT, MPI_COMM_WORLD),
         .bytes = is_root ? 20 * size : 0, .received = is_root ? 0 : 20, .root = ROOT, .members = world);
}

static void nonblocking(void)
{
    MPI_Request requests[8];
    int is_root = rank == ROOT;

    COLL(MPI_Ibarrier, (MPI_COMM_WORLD, &requests[0]), .members = world);
    WAIT(MPI_Wait, (&requests[0], MPI_STATUS_IGNORE));
    COLL(MPI_Ibcast, (got, 12, MPI_INT, ROOT, MPI_COMM_WORLD, &requests[0]), .bytes = is_root ? 48 : 0,
         .received = is_root ? 0 : 48, .root = ROOT, .members = world);
    COLL(MPI_Iallreduce, (sent, got + 100, 13, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &requests[1]), .bytes = 52,
         .received = 52, .members = world);
    COLL(MPI_Igather, (sent, 14, MPI_INT, got + 200, 14, MPI_INT, ROOT, MPI_COMM_WORLD, &requests[2]), .bytes = 56,
         .received = is_root ? 56 * size : 0, .root = ROOT, .members = world);
    COLL(MPI_Iscatter, (sent, 3, MPI_INT, got + 300, 3, MPI_INT, ROOT, MPI_COMM_WORLD, &requests[3]),
         .bytes = is_root ? 12 * size : 0, .received = 12, .root = ROOT, .members = world);
    COLL(MPI_Iallgatherv, (sent, rank + 1, MPI_INT, got + 400, counts, places, MPI_INT, MPI_COMM_WORLD, &requests[4]),
         .bytes = 4 * (rank + 1), .received = 4 * total, .members = world);
    COLL(MPI_Ialltoallv,
         (sent, counts, places, MPI_INT, got + 500, ones, places, MPI_INT, MPI_COMM_WORLD, &requests[5]),
         .bytes = 4 * total, .received = 4 * size * (rank + 1), .members = world);
    COLL(MPI_Ialltoallw,
         (sent, counts, byte_places, ints, got + 600, ones, byte_places, ints, MPI_COMM_WORLD, &requests[6]),
         .bytes = 4 * total, .received = 4 * size * (rank + 1), .members = world);
    COLL(MPI_Ireduce, (sent, got + 700, 3, MPI_INT, MPI_SUM, ROOT, MPI_COMM_WORLD, &requests[7]), .bytes = 12,
         .received = is_root ? 12 : 0, .root = ROOT, .members = world);
    WAIT(MPI_Waitall, (8, requests, MPI_STATUSES_IGNORE));
}

#if MPI_VERSION >= 4
static void persistent(void)
{
    MPI_Request request;

    COLL(MPI_Allreduce_init, (sent, got, 15, MPI_INT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &request), .bytes = 60,
         .received = 60, .members = world);
    for (int i = 0; i < 3; i++) {
        WAIT(MPI_Start, (&request));
        WAIT(MPI_Wait, (&request, MPI_STATUS_IGNORE));
    }
    WAIT(MPI_Request_free, (&request));
}
#endif

/* A ring: every rank has two neighbours. */
static void neighbours(void)
{
    MPI_Comm line;
    int dimensions[] = { size }, periods[] = { 1 };

    OTHER(MPI_Cart_create, (MPI_COMM_WORLD, 1, dimensions, periods, 0, &line));
    COLL(MPI_Neighbor_allgather, (sent, 3, MPI_INT, got, 3, MPI_INT, line), .bytes = 12, .received = 24,
         .members = world);
    COLL(MPI_Neighbor_alltoall, (sent, 3, MPI_INT, got, 3, MPI_INT, line), .bytes = 24, .received = 24,
         .members = world);
    OTHER(MPI_Comm_free, (&line));
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    set_counts();
    COLL(MPI_Barrier, (MPI_COMM_WORLD), .members = world);
    gathering();
    scattering();
    exchanging();
    reducing();
    in_place();
    nonblocking();
#if MPI_VERSION >= 4
    persistent();
#endif
    neighbours();
    return end();
}
