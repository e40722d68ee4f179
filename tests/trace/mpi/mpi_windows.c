/* One-sided communication, files, and what MPI 4 added: large counts, partitioned messages, sessions. With their
 * ledger. The argument is a path for a file. Needs an even number of ranks. */
#include "mpi_ledger.h"

static int partner, memory[64], buffer[64];

static void windows(void)
{
    MPI_Win window;
    int *given;

    OTHER(MPI_Win_create, (memory, sizeof memory, PIECE, MPI_INFO_NULL, MPI_COMM_WORLD, &window));
    OTHER(MPI_Win_fence, (0, window));
    OTHER(MPI_Put, (buffer, 4, MPI_INT, partner, 0, 4, MPI_INT, window));
    OTHER(MPI_Win_fence, (0, window));
    OTHER(MPI_Get, (buffer, 4, MPI_INT, partner, 8, 4, MPI_INT, window));
    OTHER(MPI_Accumulate, (buffer, 4, MPI_INT, partner, 16, 4, MPI_INT, MPI_SUM, window));
    OTHER(MPI_Win_fence, (0, window));
    OTHER(MPI_Win_free, (&window));
    OTHER(MPI_Win_allocate, (64, PIECE, MPI_INFO_NULL, MPI_COMM_WORLD, &given, &window));
    OTHER(MPI_Win_lock, (MPI_LOCK_EXCLUSIVE, partner, 0, window));
    OTHER(MPI_Fetch_and_op, (buffer, buffer + 8, MPI_INT, partner, 0, MPI_SUM, window));
    OTHER(MPI_Win_flush, (partner, window));
    OTHER(MPI_Win_unlock, (partner, window));
    COLL(MPI_Barrier, (MPI_COMM_WORLD), .members = world);
    OTHER(MPI_Win_free, (&window));
}

static void files(const char *path)
{
    MPI_File file;
    MPI_Status status;
    MPI_Request request;

    OTHER(MPI_File_open, (MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file));
    OTHER(MPI_File_write_at, (file, rank * 64, buffer, 8, MPI_INT, &status));
    OTHER(MPI_File_write_at_all, (file, 4096 + rank * 64, buffer, 8, MPI_INT, MPI_STATUS_IGNORE));
    OTHER(MPI_File_sync, (file));
    OTHER(MPI_File_read_at, (file, rank * 64, memory, 8, MPI_INT, &status));
    OTHER(MPI_File_iwrite_at, (file, 8192 + rank * 64, buffer, 8, MPI_INT, &request));
    WAIT(MPI_Wait, (&request, MPI_STATUS_IGNORE));
    OTHER(MPI_File_close, (&file));
}

/* A request whose operation is the program's own. */
static int query(void *state, MPI_Status *status)
{
    MPI_Status_set_elements(status, MPI_INT, 0);
    MPI_Status_set_cancelled(status, 0);
    status->MPI_SOURCE = status->MPI_TAG = MPI_UNDEFINED;
    return MPI_SUCCESS;
}
static int no_free(void *state)
{
    return MPI_SUCCESS;
}
static int no_cancel(void *state, int is_complete)
{
    return MPI_SUCCESS;
}

static void own_requests(void)
{
    MPI_Request request;

    OTHER(MPI_Grequest_start, (query, no_free, no_cancel, NULL, &request));
    OTHER(MPI_Grequest_complete, (request));
    WAIT(MPI_Wait, (&request, MPI_STATUS_IGNORE));
}

#if MPI_VERSION >= 4
static void large_counts(void)
{
    MPI_Request request;

    P2P(MPI_Irecv_c, (memory, 64, MPI_INT, partner, 30, MPI_COMM_WORLD, &request), .bytes = 12, .peer = partner,
        .tag = 30, .members = world);
    P2P(MPI_Send_c, (buffer, 3, MPI_INT, partner, 30, MPI_COMM_WORLD), .bytes = 12, .peer = partner, .tag = 30,
        .members = world);
    WAIT(MPI_Wait, (&request, MPI_STATUS_IGNORE));
    COLL(MPI_Bcast_c, (memory, 5, MPI_INT, 0, MPI_COMM_WORLD), .bytes = rank ? 0 : 20, .received = rank ? 20 : 0,
         .root = 0, .members = world);
    COLL(MPI_Allreduce_c, (buffer, memory, 6, MPI_INT, MPI_SUM, MPI_COMM_WORLD), .bytes = 24, .received = 24,
         .members = world);
}

static void both_ways(void)
{
    MPI_Request request;

    P2P(MPI_Isendrecv, (buffer, 7, MPI_INT, partner, 31, memory, 64, MPI_INT, partner, 31, MPI_COMM_WORLD, &request),
        .bytes = 28, .peer = partner, .tag = 31, .members = world);
    WAIT(MPI_Wait, (&request, MPI_STATUS_IGNORE));
}

/* Four parts of three ints. The receiver asks for each, until it is there. */
static void parts(void)
{
    MPI_Request requests[2];
    long polls = 0;

    P2P(MPI_Psend_init, (buffer, 4, 3, MPI_INT, partner, 32, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[0]), .bytes = 48,
        .peer = partner, .tag = 32, .members = world);
    P2P(MPI_Precv_init, (memory, 4, 3, MPI_INT, partner, 32, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[1]),
        .peer = partner, .tag = 32, .members = world);
    for (int round = 0; round < 2; round++) {
        WAIT(MPI_Startall, (2, requests));
        WAIT(MPI_Pready, (0, requests[0]));
        WAIT(MPI_Pready_range, (1, 3, requests[0]));
        for (int part = 0, is_there = 0; part < 4; part += is_there) {
            must(MPI_Parrived(requests[1], part, &is_there), "MPI_Parrived");
            polls += !is_there;
            if (is_there)
                NOTE("wait", "MPI_Parrived", .table = "wait");
        }
        WAIT(MPI_Waitall, (2, requests, MPI_STATUSES_IGNORE));
    }
    note_polls("MPI_Parrived", polls);
    WAIT(MPI_Request_free, (&requests[0]));
    WAIT(MPI_Request_free, (&requests[1]));
}

static void sessions(void)
{
    MPI_Session session;
    MPI_Group group;
    MPI_Comm comm;

    OTHER(MPI_Session_init, (MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session));
    OTHER(MPI_Group_from_session_pset, (session, "mpi://WORLD", &group));
    OTHER(MPI_Comm_create_from_group, (group, "tacho", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm));
    COLL(MPI_Allreduce, (buffer, memory, 8, MPI_INT, MPI_SUM, comm), .bytes = 32, .received = 32, .members = world);
    OTHER(MPI_Comm_free, (&comm));
    OTHER(MPI_Group_free, (&group));
    OTHER(MPI_Session_finalize, (&session));
}
#endif

int main(int argc, char **argv)
{
    int is_asked = argc > 2;

    begin(&argc, &argv);
    partner = rank ^ 1;
    windows();
    files(argv[1]);
    own_requests();
#if MPI_VERSION >= 4
    large_counts();
    both_ways();
    parts();
    if (is_asked) /* not every implementation can */
        sessions();
#endif
    (void)is_asked;
    return end();
}
