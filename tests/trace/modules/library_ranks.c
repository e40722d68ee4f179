/* Two ranks, a process each, that do the same collectives on two communicators; rank 1 does one broadcast less in the
 * end. Beside them the program has an NVTX range and a domain of its own. */
#include "../nvtx_client.h"

#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

typedef struct {
    char bytes[128];
} ncclUniqueId;
typedef struct ncclComm *ncclComm_t;
int ncclCommInitRank(ncclComm_t *comm, int ranks, ncclUniqueId id, int rank);
int ncclAllReduce(const void *from, void *to, size_t count, int type, int operation, ncclComm_t comm, void *stream);
int ncclBroadcast(const void *from, void *to, size_t count, int type, int root, ncclComm_t comm, void *stream);
int ncclBcast(void *buffer, size_t count, int type, int root, ncclComm_t comm, void *stream);
int ncclSend(const void *from, size_t count, int type, int peer, ncclComm_t comm, void *stream);
int ncclGroupStart(void);
int ncclGroupEnd(void);

static int work(int rank)
{
    int bad = 0;
    ncclComm_t comms[2];
    void *stream = &comms;
    for (int i = 0; i < 2; i++) {
        ncclUniqueId id = { .bytes = { (char)(i + 1), 0, 0, 0, 0, 0, 0, (char)0xf0 } }; /* a hash above 2^63 */
        id.bytes[127] = 'z';
        bad |= ncclCommInitRank(&comms[i], 2, id, rank);
    }
    nvtx_push("of the program");
    struct nvtx_attributes own = nvtx_text("also of the program");
    nvtx_domain_mark(nvtx_domain("own"), &own);
    for (int i = 0; i < 3; i++)
        bad |= ncclAllReduce(NULL, NULL, 1000 * (size_t)(i + 1), 7, i == 2 ? 2 : 0, comms[0], stream);
    bad |= ncclGroupStart();
    bad |= ncclAllReduce(NULL, NULL, 5, 7, 0, comms[1], stream);
    bad |= ncclGroupEnd();
    bad |= ncclSend(NULL, 6, 7, 1 - rank, comms[0], stream);
    if (rank == 0)
        bad |= ncclBcast(NULL, 7, 7, 1, comms[1], stream);
    nvtx_pop();
    return bad;
}

int main(void)
{
    pid_t pid = fork();
    int bad = work(pid == 0);
    if (pid == 0)
        _exit(bad);
    int status = -1;
    waitpid(pid, &status, 0);
    puts(bad || status ? "wrong" : "ok");
    return bad || status;
}
