/* Communicators of every kind, a message and a collective over each, with their ledger. For four ranks. Prints what
 * each rank got, in an order that does not depend on who was faster, so that runs can be compared.
 *
 * With the argument "spawn" it spawns itself, with the argument "child". */
#include "mpi_ledger.h"

static int checks;   /* a sum of all that was received */
static int is_quiet; /* leave out what Open MPI does by messages that it counts as the program's */

/* Everyone sends its rank to the next, and the sum goes round. */
static void use(MPI_Comm comm, int members, int own, const char *names)
{
    int right = (own + 1) % members, left = (own + members - 1) % members, got = 0, sum = 0;
    MPI_Request request;

    P2P(MPI_Irecv, (&got, 1, MPI_INT, left, 3, comm, &request), .bytes = 4, .peer = left, .tag = 3, .members = names);
    P2P(MPI_Send, (&own, 1, MPI_INT, right, 3, comm), .bytes = 4, .peer = right, .tag = 3, .members = names);
    WAIT(MPI_Wait, (&request, MPI_STATUS_IGNORE));
    COLL(MPI_Allreduce, (&own, &sum, 1, MPI_INT, MPI_SUM, comm), .bytes = 4, .received = 4, .members = names);
    checks = checks * 31 + got * 7 + sum;
}

static void copies(void)
{
    MPI_Comm copy;
    MPI_Request request;

    for (int i = 0; i < 3; i++) { /* freed and made again: a handle comes back */
        OTHER(MPI_Comm_dup, (MPI_COMM_WORLD, &copy));
        use(copy, size, rank, world);
        OTHER(MPI_Comm_free, (&copy));
    }
    OTHER(MPI_Comm_idup, (MPI_COMM_WORLD, &copy, &request));
    WAIT(MPI_Wait, (&request, MPI_STATUS_IGNORE));
    use(copy, size, rank, world);
    OTHER(MPI_Comm_free, (&copy));
}

static void halves(void)
{
    char names[256];
    MPI_Comm half, shared;

    /* Even and odd, the last of them first. */
    OTHER(MPI_Comm_split, (MPI_COMM_WORLD, rank % 2, -rank, &half));
    write_members(names, size - 2 + rank % 2, -2, size / 2);
    use(half, size / 2, (size - 2 + rank % 2 - rank) / 2, names);
    OTHER(MPI_Comm_free, (&half));
    OTHER(MPI_Comm_split, (MPI_COMM_WORLD, rank == 0 ? MPI_UNDEFINED : 0, rank, &half));
    write_members(names, 1, 1, size - 1);
    if (rank) {
        use(half, size - 1, rank - 1, names);
        OTHER(MPI_Comm_free, (&half));
    }
    OTHER(MPI_Comm_split_type, (MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &shared));
    use(shared, size, rank, world);
    OTHER(MPI_Comm_free, (&shared));
}

static void created(void)
{
    static const int first_two[] = { 1, 0 };
    MPI_Group everyone, two;
    MPI_Comm pair;

    OTHER(MPI_Comm_group, (MPI_COMM_WORLD, &everyone));
    OTHER(MPI_Group_incl, (everyone, 2, first_two, &two));
    OTHER(MPI_Comm_create, (MPI_COMM_WORLD, two, &pair));
    if (rank < 2) {
        use(pair, 2, 1 - rank, "1,0");
        OTHER(MPI_Comm_free, (&pair));
    }
    if (rank < 2 && !is_quiet) {
        OTHER(MPI_Comm_create_group, (MPI_COMM_WORLD, two, 5, &pair));
        use(pair, 2, 1 - rank, "1,0");
        OTHER(MPI_Comm_free, (&pair));
    }
    OTHER(MPI_Group_free, (&two));
    OTHER(MPI_Group_free, (&everyone));
}

/* Two groups of two that face each other: peers are ranks of the other group. */
static void facing(void)
{
    MPI_Comm half, between, merged;
    int is_upper = rank >= 2, own = rank % 2, got = 0, sum = 0;

    OTHER(MPI_Comm_split, (MPI_COMM_WORLD, is_upper, rank, &half));
    OTHER(MPI_Intercomm_create, (half, 0, MPI_COMM_WORLD, is_upper ? 0 : 2, 6, &between));
    P2P(MPI_Sendrecv, (&rank, 1, MPI_INT, 1 - own, 7, &got, 1, MPI_INT, 1 - own, 7, between, MPI_STATUS_IGNORE),
        .bytes = 4, .peer = 1 - own, .tag = 7, .members = is_upper ? "0,1" : "2,3");
    COLL(MPI_Allreduce, (&rank, &sum, 1, MPI_INT, MPI_SUM, between), .bytes = 4, .received = 4,
         .members = is_upper ? "0,1" : "2,3");
    checks = checks * 31 + got * 7 + sum;
    OTHER(MPI_Intercomm_merge, (between, is_upper, &merged));
    use(merged, 4, rank, world);
    OTHER(MPI_Comm_free, (&merged));
    OTHER(MPI_Comm_free, (&between));
    OTHER(MPI_Comm_free, (&half));
}

/* The ranks of another world have no rank in ours, so nothing is said of the members. */
static void children(char *program)
{
    MPI_Comm between;
    char *arguments[] = { "child", NULL };
    int got = 0, sum = 0;

    OTHER(MPI_Comm_spawn, (program, arguments, 2, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &between, MPI_ERRCODES_IGNORE));
    if (rank < 2)
        P2P(MPI_Sendrecv, (&rank, 1, MPI_INT, rank, 8, &got, 1, MPI_INT, rank, 8, between, MPI_STATUS_IGNORE),
            .bytes = 4, .peer = rank, .tag = 8, .members = "another world");
    COLL(MPI_Allreduce, (&rank, &sum, 1, MPI_INT, MPI_SUM, between), .bytes = 4, .received = 4,
         .members = "another world");
    checks = checks * 31 + got * 7 + sum;
    OTHER(MPI_Comm_disconnect, (&between));
}

static int child(void)
{
    MPI_Comm parent;
    int sent = rank + 50, got = 0, sum = 0;

    OTHER(MPI_Comm_get_parent, (&parent));
    use(MPI_COMM_WORLD, size, rank, world);
    P2P(MPI_Sendrecv, (&sent, 1, MPI_INT, rank, 8, &got, 1, MPI_INT, rank, 8, parent, MPI_STATUS_IGNORE), .bytes = 4,
        .peer = rank, .tag = 8, .members = "another world");
    COLL(MPI_Allreduce, (&sent, &sum, 1, MPI_INT, MPI_SUM, parent), .bytes = 4, .received = 4,
         .members = "another world");
    OTHER(MPI_Comm_disconnect, (&parent));
    return end();
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    if (argc > 1 && strcmp(argv[1], "child") == 0)
        return child();
    use(MPI_COMM_WORLD, size, rank, world);
    is_quiet = argc > 1 && strcmp(argv[1], "quiet") == 0;
    copies();
    halves();
    created();
    if (!is_quiet)
        facing();
    if (argc > 1 && strcmp(argv[1], "spawn") == 0)
        children(argv[0]);
    if (rank == 0)
        printf("checks %d\n", checks);
    if (rank == 0)
        for (int i = 1; i < size; i++) {
            int other;
            P2P(MPI_Recv, (&other, 1, MPI_INT, i, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE), .bytes = 4, .peer = i,
                .tag = 9, .members = world);
            printf("checks %d\n", other);
        }
    else
        P2P(MPI_Send, (&checks, 1, MPI_INT, 0, 9, MPI_COMM_WORLD), .bytes = 4, .peer = 0, .tag = 9, .members = world);
    return end();
}
