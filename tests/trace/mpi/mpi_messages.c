/* Point-to-point calls of every kind, between neighbours 0–1, 2–3, …, with their ledger. Needs an even number of
 * ranks.
 */
#include "mpi_ledger.h"

enum { TOKEN = 99, BUFFERED = 1 << 16 };

static int partner, buffer[64], other[64];

static void send_token(void)
{
    P2P(MPI_Send, (buffer, 0, MPI_INT, partner, TOKEN, MPI_COMM_WORLD), .bytes = 0, .peer = partner, .tag = TOKEN,
        .members = world);
}

static void receive_token(void)
{
    P2P(MPI_Recv, (other, 0, MPI_INT, partner, TOKEN, MPI_COMM_WORLD, MPI_STATUS_IGNORE), .bytes = 0, .peer = partner,
        .tag = TOKEN, .members = world);
}

/* The receiver has room for 64, and mostly no status: the bytes are those that arrived. */
static void blocking(int sends)
{
    MPI_Status status;

    if (sends) {
        void *room = malloc(BUFFERED);
        int room_bytes;
        P2P(MPI_Send, (buffer, 5, MPI_INT, partner, 1, MPI_COMM_WORLD), .bytes = 5 * PIECE, .peer = partner, .tag = 1,
            .members = world);
        P2P(MPI_Ssend, (buffer, 6, MPI_INT, partner, 2, MPI_COMM_WORLD), .bytes = 6 * PIECE, .peer = partner, .tag = 2,
            .members = world);
        OTHER(MPI_Buffer_attach, (room, BUFFERED));
        P2P(MPI_Bsend, (buffer, 7, MPI_INT, partner, 3, MPI_COMM_WORLD), .bytes = 7 * PIECE, .peer = partner, .tag = 3,
            .members = world);
        OTHER(MPI_Buffer_detach, (&room, &room_bytes));
        free(room);
        receive_token();
        P2P(MPI_Rsend, (buffer, 8, MPI_INT, partner, 4, MPI_COMM_WORLD), .bytes = 8 * PIECE, .peer = partner, .tag = 4,
            .members = world);
        return;
    }
    for (int tag = 1; tag <= 3; tag++)
        P2P(MPI_Recv, (other, 64, MPI_INT, partner, tag, MPI_COMM_WORLD, tag == 2 ? &status : MPI_STATUS_IGNORE),
            .bytes = (4 + tag) * PIECE, .peer = partner, .tag = tag, .members = world);
    MPI_Request request;
    P2P(MPI_Irecv, (other, 64, MPI_INT, partner, 4, MPI_COMM_WORLD, &request), .bytes = 8 * PIECE, .peer = partner,
        .tag = 4, .members = world);
    send_token();
    WAIT(MPI_Wait, (&request, MPI_STATUS_IGNORE));
}

/* 2 × 3 blocks of 2 ints with gaps: 48 bytes of data in a wider extent. They arrive as plain ints. */
static void derived_types(int sends)
{
    MPI_Datatype blocks;

    OTHER(MPI_Type_vector, (3, 2, 4, MPI_INT, &blocks));
    OTHER(MPI_Type_commit, (&blocks));
    if (sends)
        P2P(MPI_Send, (buffer, 2, blocks, partner, 5, MPI_COMM_WORLD), .bytes = 48, .peer = partner, .tag = 5,
            .members = world);
    else
        P2P(MPI_Recv, (other, 12, MPI_INT, partner, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE), .bytes = 48, .peer = partner,
            .tag = 5, .members = world);
    OTHER(MPI_Type_free, (&blocks));
}

/* Everyone to rank 0, which cannot know who is first: the data says who it was. */
static void from_anyone(void)
{
    if (rank) {
        int sent[3] = { rank, 40 + rank, 0 };
        P2P(MPI_Send, (sent, 3, MPI_INT, 0, 40 + rank, MPI_COMM_WORLD), .bytes = 12, .peer = 0, .tag = 40 + rank,
            .members = world);
        P2P(MPI_Send, (sent, 2, MPI_INT, 0, 60, MPI_COMM_WORLD), .bytes = 8, .peer = 0, .tag = 60, .members = world);
        return;
    }
    for (int i = 1; i < size; i++) {
        must(MPI_Recv(other, 64, MPI_INT, MPI_ANY_SOURCE, 60, MPI_COMM_WORLD, MPI_STATUS_IGNORE), "MPI_Recv");
        NOTE("p2p", "MPI_Recv", .bytes = 8, .peer = other[0], .tag = 60, .members = world);
    }
    for (int i = 1; i < size; i++) {
        MPI_Request request;
        must(MPI_Irecv(other, 64, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &request), "MPI_Irecv");
        WAIT(MPI_Wait, (&request, MPI_STATUS_IGNORE));
        NOTE("p2p", "MPI_Irecv", .bytes = 12, .peer = other[0], .tag = other[1], .members = world);
    }
}

static void nobody(void)
{
    MPI_Request requests[2];

    P2P(MPI_Send, (buffer, 9, MPI_INT, MPI_PROC_NULL, 6, MPI_COMM_WORLD), .bytes = 9 * PIECE, .tag = 6,
        .members = world);
    P2P(MPI_Recv, (other, 9, MPI_INT, MPI_PROC_NULL, 6, MPI_COMM_WORLD, MPI_STATUS_IGNORE), .bytes = 0,
        .members = world);
    P2P(MPI_Isend, (buffer, 9, MPI_INT, MPI_PROC_NULL, 7, MPI_COMM_WORLD, &requests[0]), .bytes = 9 * PIECE, .tag = 7,
        .members = world);
    P2P(MPI_Irecv, (other, 9, MPI_INT, MPI_PROC_NULL, 7, MPI_COMM_WORLD, &requests[1]), .bytes = 0, .members = world);
    WAIT(MPI_Waitall, (2, requests, MPI_STATUSES_IGNORE));
}

/* Sends to the right, receives from the left: bytes, peer and tag are the sender's. */
static void ring(void)
{
    int right = (rank + 1) % size, left = (rank + size - 1) % size;

    P2P(MPI_Sendrecv, (buffer, 10, MPI_INT, right, 8, other, 64, MPI_INT, left, 8, MPI_COMM_WORLD, MPI_STATUS_IGNORE),
        .bytes = 10 * PIECE, .peer = right, .tag = 8, .members = world);
    P2P(MPI_Sendrecv_replace, (buffer, 11, MPI_INT, right, 9, left, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE),
        .bytes = 11 * PIECE, .peer = right, .tag = 9, .members = world);
}

typedef int sender(const void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request *);

static void send_nonblocking(sender *function, const char *name, int count, int tag, MPI_Request *request)
{
    must(function(buffer, count, MPI_INT, partner, tag, MPI_COMM_WORLD, request), name);
    NOTE("p2p", name, .bytes = count * PIECE, .peer = partner, .tag = tag, .members = world);
}

static void receive_nonblocking(int count, int tag, MPI_Request *request)
{
    must(MPI_Irecv(other, 64, MPI_INT, partner, tag, MPI_COMM_WORLD, request), "MPI_Irecv");
    NOTE("p2p", "MPI_Irecv", .bytes = count * PIECE, .peer = partner, .tag = tag, .members = world);
}

/* Four messages each way, which end by each of the ways to wait. */
static void nonblocking(void)
{
    void *room = malloc(BUFFERED);
    MPI_Request requests[8];
    MPI_Status statuses[8];
    int index, count, indices[8], room_bytes;

    OTHER(MPI_Buffer_attach, (room, BUFFERED));
    for (int round = 0; round < 2; round++) {
        receive_nonblocking(12, 10, &requests[0]);
        receive_nonblocking(13, 11, &requests[1]);
        receive_nonblocking(14, 12, &requests[2]);
        send_nonblocking(MPI_Isend, "MPI_Isend", 12, 10, &requests[3]);
        send_nonblocking(MPI_Issend, "MPI_Issend", 13, 11, &requests[4]);
        send_nonblocking(MPI_Ibsend, "MPI_Ibsend", 14, 12, &requests[5]);
        if (round == 0) {
            WAIT(MPI_Waitall, (6, requests, statuses));
            continue;
        }
        WAIT(MPI_Waitany, (6, requests, &index, MPI_STATUS_IGNORE));
        for (int done = 1; done < 6; done += count)
            WAIT(MPI_Waitsome, (6, requests, &count, indices, MPI_STATUSES_IGNORE));
    }
    OTHER(MPI_Buffer_detach, (&room, &room_bytes));
    free(room);
}

/* Each asks until it is told yes; the others were polls. */
#define UNTIL(kind, function, arguments, flag, ...)                                                                  \
    do {                                                                                                             \
        long polls = -1;                                                                                             \
        for (flag = 0; !flag; polls++)                                                                               \
            must(function arguments, #function);                                                                     \
        note_polls(#function, polls);                                                                                \
        NOTE(kind, #function, __VA_ARGS__);                                                                          \
    } while (0)

static void testing(void)
{
    MPI_Request requests[2];
    MPI_Status status;
    int flag, index, indices[2], count;

    receive_nonblocking(15, 13, &requests[0]);
    send_nonblocking(MPI_Isend, "MPI_Isend", 15, 13, &requests[1]);
    UNTIL("wait", MPI_Test, (&requests[0], &flag, MPI_STATUS_IGNORE), flag, .table = "wait");
    UNTIL("other", MPI_Request_get_status, (requests[1], &flag, &status), flag, .table = "other");
    UNTIL("wait", MPI_Testall, (1, &requests[1], &flag, MPI_STATUSES_IGNORE), flag, .table = "wait");
    receive_nonblocking(16, 14, &requests[0]);
    send_nonblocking(MPI_Isend, "MPI_Isend", 16, 14, &requests[1]);
    for (int i = 0; i < 2; i++)
        UNTIL("wait", MPI_Testany, (2, requests, &index, &flag, &status), flag, .table = "wait");
    receive_nonblocking(17, 15, &requests[0]);
    send_nonblocking(MPI_Isend, "MPI_Isend", 17, 15, &requests[1]);
    for (int done = 0; done < 2; done += count)
        UNTIL("wait", MPI_Testsome, (2, requests, &count, indices, MPI_STATUSES_IGNORE), count, .table = "wait");
}

/* Three messages each way of each of two requests. */
static void persistent(void)
{
    MPI_Request requests[2], sender;

    P2P(MPI_Recv_init, (other, 64, MPI_INT, partner, 16, MPI_COMM_WORLD, &requests[0]), .peer = partner, .tag = 16,
        .members = world);
    P2P(MPI_Send_init, (buffer, 18, MPI_INT, partner, 16, MPI_COMM_WORLD, &requests[1]), .bytes = 18 * PIECE,
        .peer = partner, .tag = 16, .members = world);
    for (int i = 0; i < 3; i++) {
        WAIT(MPI_Startall, (2, requests));
        WAIT(MPI_Waitall, (2, requests, MPI_STATUSES_IGNORE));
    }
    P2P(MPI_Ssend_init, (buffer, 19, MPI_INT, partner, 16, MPI_COMM_WORLD, &sender), .bytes = 19 * PIECE,
        .peer = partner, .tag = 16, .members = world);
    for (int i = 0; i < 3; i++) {
        WAIT(MPI_Start, (&requests[0]));
        WAIT(MPI_Start, (&sender));
        WAIT(MPI_Wait, (&sender, MPI_STATUS_IGNORE));
        WAIT(MPI_Wait, (&requests[0], MPI_STATUS_IGNORE));
    }
    WAIT(MPI_Request_free, (&requests[0]));
    WAIT(MPI_Request_free, (&requests[1]));
    WAIT(MPI_Request_free, (&sender));
}

static void probing(int sends)
{
    MPI_Status status;
    MPI_Message message;
    MPI_Request request;
    int flag;

    if (sends) {
        for (int i = 0; i < 4; i++)
            P2P(MPI_Send, (buffer, 20 + i, MPI_INT, partner, 20 + i, MPI_COMM_WORLD), .bytes = (20 + i) * PIECE,
                .peer = partner, .tag = 20 + i, .members = world);
        return;
    }
    P2P(MPI_Probe, (partner, 20, MPI_COMM_WORLD, &status), .bytes = 20 * PIECE, .peer = partner, .tag = 20,
        .members = world);
    P2P(MPI_Recv, (other, 20, MPI_INT, partner, 20, MPI_COMM_WORLD, &status), .bytes = 20 * PIECE, .peer = partner,
        .tag = 20, .members = world);
    UNTIL("p2p", MPI_Iprobe, (partner, 21, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE), flag, .bytes = 21 * PIECE,
          .peer = partner, .tag = 21, .members = world);
    P2P(MPI_Recv, (other, 21, MPI_INT, partner, 21, MPI_COMM_WORLD, MPI_STATUS_IGNORE), .bytes = 21 * PIECE,
        .peer = partner, .tag = 21, .members = world);
    P2P(MPI_Mprobe, (partner, 22, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE), .bytes = 22 * PIECE, .peer = partner,
        .tag = 22, .members = world);
    P2P(MPI_Mrecv, (other, 64, MPI_INT, &message, MPI_STATUS_IGNORE), .bytes = 22 * PIECE, .peer = partner, .tag = 22);
    UNTIL("p2p", MPI_Improbe, (partner, 23, MPI_COMM_WORLD, &flag, &message, MPI_STATUS_IGNORE), flag,
          .bytes = 23 * PIECE, .peer = partner, .tag = 23, .members = world);
    P2P(MPI_Imrecv, (other, 64, MPI_INT, &message, &request), .bytes = 23 * PIECE, .peer = partner, .tag = 23);
    WAIT(MPI_Wait, (&request, MPI_STATUS_IGNORE));
}

/* A receive that nothing matches, and one whose request is freed before it is complete. */
static void given_up(void)
{
    MPI_Request request;

    P2P(MPI_Irecv, (other, 64, MPI_INT, partner, 77, MPI_COMM_WORLD, &request), .peer = partner, .tag = 77,
        .members = world);
    WAIT(MPI_Cancel, (&request));
    WAIT(MPI_Wait, (&request, MPI_STATUS_IGNORE));
    send_nonblocking(MPI_Isend, "MPI_Isend", 24, 24, &request);
    WAIT(MPI_Request_free, (&request));
    P2P(MPI_Recv, (other, 64, MPI_INT, partner, 24, MPI_COMM_WORLD, MPI_STATUS_IGNORE), .bytes = 24 * PIECE,
        .peer = partner, .tag = 24, .members = world);
}

static void to_oneself(void)
{
    MPI_Request request;

    P2P(MPI_Irecv, (other, 64, MPI_INT, rank, 25, MPI_COMM_WORLD, &request), .bytes = 25 * PIECE, .peer = rank,
        .tag = 25, .members = world);
    P2P(MPI_Send, (buffer, 25, MPI_INT, rank, 25, MPI_COMM_WORLD), .bytes = 25 * PIECE, .peer = rank, .tag = 25,
        .members = world);
    WAIT(MPI_Wait, (&request, MPI_STATUS_IGNORE));
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    partner = rank ^ 1;
    for (int turn = 0; turn < 2; turn++) {
        blocking(rank % 2 == turn);
        derived_types(rank % 2 == turn);
        probing(rank % 2 == turn);
    }
    COLL(MPI_Barrier, (MPI_COMM_WORLD), .members = world);
    from_anyone();
    COLL(MPI_Barrier, (MPI_COMM_WORLD), .members = world);
    nobody();
    ring();
    nonblocking();
    testing();
    if (argc < 2) /* Open MPI's monitoring does not count these */
        persistent();
    given_up();
    to_oneself();
    return end();
}
