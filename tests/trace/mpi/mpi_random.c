/* A random MPI program: mpi_random SEED STEPS. All ranks draw the same steps from the seed, and each takes its part in
 * them in that order, so that the program cannot block itself; before each part a rank sleeps for a time of its own.
 * Messages carry a number. Each rank writes, in the order of its calls, which numbers it sent, and which ones came to
 * the receives that it posted: what belongs together is known without any rule of matching. */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MOST_BYTES = 300000, BURST = 4, TAGS = 3, ALONE_TAG = 100 };

static uint64_t shared_state, own_state;
static int rank, size, step;
static MPI_Comm comms[2]; /* the world, and a copy of it in reverse order */
static char *buffers[2 * BURST + 2];
static FILE *ledger;

static uint32_t draw(uint64_t *state, uint32_t below)
{
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)((*state >> 33) % below);
}

static void pause_a_while(void)
{
    const struct timespec pause = { 0, draw(&own_state, 3) ? 0 : (long)draw(&own_state, 1500) * 1000 };
    if (pause.tv_nsec)
        nanosleep(&pause, NULL);
}

static void sends(char *buffer, int number)
{
    memcpy(buffer, &number, sizeof number);
    fprintf(ledger, "sent %d\n", number);
}

/* Receives are told once they are complete, with their place in the order in which they were posted. */
static int posted;
static void received(const char *buffer, int place)
{
    int number;
    memcpy(&number, buffer, sizeof number);
    fprintf(ledger, "received %d %d\n", place, number);
}

struct message {
    int source, target, tag, bytes, number, comm;
};

static void send_one(const struct message *m, uint32_t form)
{
    MPI_Comm comm = comms[m->comm];
    MPI_Request request;
    char *buffer = buffers[0];
    sends(buffer, m->number);
    switch (form) {
    case 0: MPI_Send(buffer, m->bytes, MPI_BYTE, m->target, m->tag, comm); return;
    case 1: MPI_Ssend(buffer, m->bytes, MPI_BYTE, m->target, m->tag, comm); return;
    case 2: MPI_Bsend(buffer, m->bytes, MPI_BYTE, m->target, m->tag, comm); return;
    case 3: MPI_Isend(buffer, m->bytes, MPI_BYTE, m->target, m->tag, comm, &request); break;
    case 4: MPI_Issend(buffer, m->bytes, MPI_BYTE, m->target, m->tag, comm, &request); break;
    default:
        MPI_Send_init(buffer, m->bytes, MPI_BYTE, m->target, m->tag, comm, &request);
        pause_a_while();
        MPI_Start(&request);
    }
    pause_a_while();
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    if (form > 4)
        MPI_Request_free(&request);
}

static void receive_one(const struct message *m, uint32_t form)
{
    MPI_Comm comm = comms[m->comm];
    MPI_Request request;
    MPI_Message message;
    MPI_Status status;
    int place = posted++, flag = 0;
    char *buffer = buffers[1];
    switch (form) {
    case 0: MPI_Recv(buffer, MOST_BYTES, MPI_BYTE, m->source, m->tag, comm, MPI_STATUS_IGNORE); break;
    case 1: MPI_Recv(buffer, MOST_BYTES, MPI_BYTE, m->source, MPI_ANY_TAG, comm, &status); break;
    case 2:
        MPI_Mprobe(m->source, m->tag, comm, &message, &status);
        MPI_Mrecv(buffer, MOST_BYTES, MPI_BYTE, &message, MPI_STATUS_IGNORE);
        break;
    case 3:
        MPI_Probe(m->source, m->tag, comm, &status);
        pause_a_while();
        MPI_Recv(buffer, MOST_BYTES, MPI_BYTE, status.MPI_SOURCE, status.MPI_TAG, comm, MPI_STATUS_IGNORE);
        break;
    case 4:
        MPI_Irecv(buffer, MOST_BYTES, MPI_BYTE, m->source, m->tag, comm, &request);
        pause_a_while();
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        break;
    case 5:
        MPI_Irecv(buffer, MOST_BYTES, MPI_BYTE, m->source, m->tag, comm, &request);
        while (!flag)
            MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
        break;
    default:
        MPI_Recv_init(buffer, MOST_BYTES, MPI_BYTE, m->source, m->tag, comm, &request);
        MPI_Start(&request);
        pause_a_while();
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        MPI_Request_free(&request);
    }
    received(buffer, place);
}

static int draw_bytes(void)
{
    static const int bytes[] = { 8, 100, 4000, 70000, MOST_BYTES };
    return bytes[draw(&shared_state, 5)];
}

/* One message. A receive from any source has a tag that no other message has: which one it gets is then certain. */
static void one(void)
{
    struct message m = { .number = step * 100 };
    m.source = (int)draw(&shared_state, (uint32_t)size);
    m.bytes = draw_bytes();
    m.comm = (int)draw(&shared_state, 2);
    m.target = (m.source + 1 + (int)draw(&shared_state, (uint32_t)size - 1)) % size;
    uint32_t send_form = draw(&shared_state, 6), receive_form = draw(&shared_state, 8), tag = draw(&shared_state, TAGS);
    m.tag = receive_form == 7 ? ALONE_TAG + step : (int)tag;
    int own;
    MPI_Comm_rank(comms[m.comm], &own);
    if (own == m.source) {
        send_one(&m, send_form);
    } else if (own == m.target && receive_form == 7) {
        int place = posted++;
        MPI_Recv(buffers[1], MOST_BYTES, MPI_BYTE, MPI_ANY_SOURCE, m.tag, comms[m.comm], MPI_STATUS_IGNORE);
        received(buffers[1], place);
    } else if (own == m.target) {
        receive_one(&m, receive_form);
    }
}

/* Several messages between two ranks at once, some of them with the same tag; completed together. */
static void burst(void)
{
    MPI_Comm comm = comms[draw(&shared_state, 2)];
    int source = (int)draw(&shared_state, (uint32_t)size);
    int target = (source + 1 + (int)draw(&shared_state, (uint32_t)size - 1)) % size, own, tags[BURST], bytes[BURST];
    MPI_Request requests[BURST];
    MPI_Comm_rank(comm, &own);
    for (int i = 0; i < BURST; i++) {
        tags[i] = (int)draw(&shared_state, 2);
        bytes[i] = draw_bytes();
    }
    if (own != source && own != target)
        return;
    int first = posted;
    for (int i = 0; i < BURST; i++) {
        if (own == source) {
            sends(buffers[2 + i], step * 100 + i);
            MPI_Isend(buffers[2 + i], bytes[i], MPI_BYTE, target, tags[i], comm, &requests[i]);
        } else {
            posted++;
            MPI_Irecv(buffers[2 + i], MOST_BYTES, MPI_BYTE, source, tags[i], comm, &requests[i]);
        }
    }
    pause_a_while();
    MPI_Waitall(BURST, requests, MPI_STATUSES_IGNORE);
    for (int i = 0; i < BURST && own == target; i++)
        received(buffers[2 + i], first + i);
}

/* Everybody sends to the next one. */
static void ring(void)
{
    int bytes = draw_bytes(), place = posted++;
    sends(buffers[0], step * 100 + rank);
    MPI_Sendrecv(buffers[0], bytes, MPI_BYTE, (rank + 1) % size, 7, buffers[1], MOST_BYTES, MPI_BYTE,
                 (rank + size - 1) % size, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    received(buffers[1], place);
}

static void collective(void)
{
    MPI_Comm comm = comms[draw(&shared_state, 2)];
    uint32_t what = draw(&shared_state, 9);
    int root = (int)draw(&shared_state, (uint32_t)size);
    MPI_Request request = MPI_REQUEST_NULL;
    char *in = buffers[0], *out = buffers[1];
    switch (what) {
    case 0: MPI_Barrier(comm); break;
    case 1: MPI_Allreduce(in, out, 10, MPI_INT, MPI_SUM, comm); break;
    case 2: MPI_Bcast(in, 1000, MPI_BYTE, root, comm); break;
    case 3: MPI_Reduce(in, out, 10, MPI_INT, MPI_SUM, root, comm); break;
    case 4: MPI_Gather(in, 100, MPI_BYTE, out, 100, MPI_BYTE, root, comm); break;
    case 5: MPI_Scatter(in, 100, MPI_BYTE, out, 100, MPI_BYTE, root, comm); break;
    case 6: MPI_Alltoall(in, 100, MPI_BYTE, out, 100, MPI_BYTE, comm); break;
    case 7: MPI_Ibarrier(comm, &request); break;
    default: MPI_Iallreduce(in, out, 10, MPI_INT, MPI_SUM, comm, &request);
    }
    if (what < 7)
        return;
    pause_a_while();
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

int main(int argc, char **argv)
{
    uint64_t seed = strtoull(argc > 1 ? argv[1] : "1", NULL, 10);
    int steps = argc > 2 ? atoi(argv[2]) : 100;
    char path[4096];

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    snprintf(path, sizeof path, "%s.%d", getenv("MPI_LEDGER"), rank);
    if (!(ledger = fopen(path, "w")))
        MPI_Abort(MPI_COMM_WORLD, 3);
    shared_state = seed * 2 + 1;
    own_state = seed * 1000 + (uint64_t)rank;
    comms[0] = MPI_COMM_WORLD;
    MPI_Comm_split(MPI_COMM_WORLD, 0, size - rank, &comms[1]);
    for (size_t i = 0; i < sizeof buffers / sizeof *buffers; i++)
        buffers[i] = calloc(1, MOST_BYTES);
    int room = 64 * (MOST_BYTES + MPI_BSEND_OVERHEAD);
    void *attached = malloc((size_t)room);
    MPI_Buffer_attach(attached, room);
    for (step = 0; step < steps; step++) {
        uint32_t kind = draw(&shared_state, 10);
        pause_a_while();
        kind < 6 ? one() : kind < 7 ? burst() : kind < 8 ? ring() : collective();
    }
    MPI_Buffer_detach(&attached, &room);
    MPI_Comm_free(&comms[1]);
    MPI_Finalize();
    return fclose(ledger) != 0;
}
