/* Programs that use MPI in ways that a profiler does not expect, with their ledger. The argument says which. */
#include <dlfcn.h>
#include <setjmp.h>
#include <sys/wait.h>

#include "mpi_ledger.h"

static void exchange(int tag)
{
    int partner = rank ^ 1, got = 0;

    P2P(MPI_Sendrecv,
        (&rank, 1, MPI_INT, partner, tag, &got, 1, MPI_INT, partner, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE),
        .bytes = 4, .peer = partner, .tag = tag, .members = world);
}

/* MPI is linked, and asked about itself, but never set up. */
static int never_begun(void)
{
    int major, minor, is_begun;

    must(MPI_Get_version(&major, &minor), "MPI_Get_version");
    must(MPI_Initialized(&is_begun), "MPI_Initialized");
    printf("begun %d\n", is_begun);
    return 5;
}

/* Others wait for rank 1 in a collective when it gives up. */
static int given_up(void)
{
    exchange(1);
    fflush(ledger);
    if (rank == 1) {
        usleep(100000);
        MPI_Abort(MPI_COMM_WORLD, 7);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    return 0;
}

/* The same, after a range with a message. */
static int given_up_unseen(void)
{
    OTHER(MPI_Pcontrol, (1));
    exchange(2);
    must(MPI_Barrier(MPI_COMM_WORLD), "MPI_Barrier");
    OTHER(MPI_Pcontrol, (0));
    return given_up();
}

/* Sends that are complete at once: MPIs give them all one handle. */
static int eager(void)
{
    enum { COUNT = 6 };
    int partner = rank ^ 1, got[COUNT];
    MPI_Request requests[2 * COUNT];

    for (int i = 0; i < COUNT; i++)
        P2P(MPI_Irecv, (&got[i], 1, MPI_INT, partner, i, MPI_COMM_WORLD, &requests[COUNT + i]), .bytes = 4,
            .peer = partner, .tag = i, .members = world);
    for (int i = 0; i < COUNT; i++)
        P2P(MPI_Isend, (&rank, 1, MPI_INT, partner, i, MPI_COMM_WORLD, &requests[i]), .bytes = 4, .peer = partner,
            .tag = i, .members = world);
    WAIT(MPI_Waitall, (2 * COUNT, requests, MPI_STATUSES_IGNORE));
    return end();
}

/* More receives than the agent can follow, all open at once. */
static int many(void)
{
    enum { COUNT = 20000 };
    static int got[COUNT];
    static MPI_Request requests[COUNT];

    for (int i = 0; i < COUNT; i++)
        must(MPI_Irecv(&got[i], 1, MPI_INT, rank, i % 1000, MPI_COMM_WORLD, &requests[i]), "MPI_Irecv");
    for (int i = 0; i < COUNT; i++)
        must(MPI_Send(&i, 1, MPI_INT, rank, i % 1000, MPI_COMM_WORLD), "MPI_Send");
    must(MPI_Waitall(COUNT, requests, MPI_STATUSES_IGNORE), "MPI_Waitall");
    printf("%d\n", got[COUNT - 1]);
    return end();
}

/* A child that only computes, and one that exits as programs do. */
static int forks(void)
{
    int status;

    exchange(1);
    for (int i = 0; i < 2; i++) {
        pid_t child = fork();
        if (child == 0)
            _exit(3 + i);
        if (child < 0 || waitpid(child, &status, 0) != child || WEXITSTATUS(status) != 3 + i)
            abort();
    }
    exchange(2);
    return end();
}

/* Handles that are freed while messages still use them, as MPI allows. */
static int freed_early(void)
{
    int partner = rank ^ 1, sent[4] = { rank }, got[4];
    MPI_Request requests[2];
    MPI_Datatype pairs;
    MPI_Comm copy;

    OTHER(MPI_Comm_dup, (MPI_COMM_WORLD, &copy));
    OTHER(MPI_Type_contiguous, (2, MPI_INT, &pairs));
    OTHER(MPI_Type_commit, (&pairs));
    P2P(MPI_Irecv, (got, 2, pairs, partner, 1, copy, &requests[0]), .bytes = 16, .peer = partner, .tag = 1,
        .members = world);
    P2P(MPI_Isend, (sent, 2, pairs, partner, 1, copy, &requests[1]), .bytes = 16, .peer = partner, .tag = 1,
        .members = world);
    OTHER(MPI_Type_free, (&pairs));
    OTHER(MPI_Comm_free, (&copy));
    WAIT(MPI_Waitall, (2, requests, MPI_STATUSES_IGNORE));
    return end();
}

/* Another MPI is loaded beside the one that is used, as some Python packages do. */
static int two_libraries(const char *path)
{
    void *other = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    int (*version)(int *, int *) = other ? (int (*)(int *, int *))dlsym(other, "MPI_Get_version") : NULL;
    int major, minor;

    if (!version)
        abort();
    version(&major, &minor);
    exchange(1);
    return end();
}

/* Messages with the tags 1 to 5; those with 2 and 4 are between MPI_Pcontrol(1) and MPI_Pcontrol(0). */
static int controls(void)
{
    for (int tag = 1; tag <= 5; tag++) {
        if (tag > 1) { /* a range is the whole job's: no rank may still be in its message */
            COLL(MPI_Barrier, (MPI_COMM_WORLD), .members = world);
            OTHER(MPI_Pcontrol, (tag % 2 == 0));
        }
        exchange(tag);
    }
    return end();
}

/* A module is loaded, and says what it finds; then dlsym() is asked. */
static int probes(const char *path)
{
    void *module = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    int (*what)(void) = module ? (int (*)(void))dlsym(module, "what_is_there") : NULL;

    if (!what)
        abort();
    exchange(1);
    if (rank == 0)
        printf("module %d, dlsym %d %d\n", what(), dlsym(RTLD_DEFAULT, "MPI_Send_c") != NULL,
               dlsym(RTLD_DEFAULT, "MPI_Send") != NULL);
    return end();
}

static jmp_buf before;

static void jump(MPI_Comm *comm, int *code, ...)
{
    longjmp(before, 1);
}

/* The error handler of the communicator leaves the call. */
static int left(void)
{
    MPI_Errhandler handler;
    volatile int count = 0;

    OTHER(MPI_Comm_create_errhandler, (jump, &handler));
    OTHER(MPI_Comm_set_errhandler, (MPI_COMM_WORLD, handler));
    for (count = 0; count < 7; count++)
        if (setjmp(before) == 0) {
            NOTE("p2p", "MPI_Send", .table = "p2p");
            MPI_Send(&rank, 1, MPI_INT, size + 3, 1, MPI_COMM_WORLD);
            return 1;
        }
    exchange(2);
    return end();
}

int main(int argc, char **argv)
{
    const char *which = argv[1];

    if (strcmp(which, "never") == 0)
        return never_begun();
    begin(&argc, &argv);
    if (strcmp(which, "abort") == 0)
        return given_up();
    if (strcmp(which, "unseen") == 0)
        return given_up_unseen();
    if (strcmp(which, "eager") == 0)
        return eager();
    if (strcmp(which, "many") == 0)
        return many();
    if (strcmp(which, "fork") == 0)
        return forks();
    if (strcmp(which, "early") == 0)
        return freed_early();
    if (strcmp(which, "left") == 0)
        return left();
    if (strcmp(which, "two") == 0)
        return two_libraries(argv[2]);
    if (strcmp(which, "control") == 0)
        return controls();
    if (strcmp(which, "weak") == 0)
        return probes(argv[2]);
    return 99;
}
