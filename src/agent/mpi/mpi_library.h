/* The MPI library of the process: which one it is, what differs between them, and the calls that the agent makes.
 *
 * The agent makes local calls only: one that communicates could hang a program of which only some ranks are profiled.
 * It makes none before MPI_Init() has returned and after MPI_Finalize() has begun, and passes no null handles, so that
 * no error handler of the program runs because of it.
 *
 * If a process has two MPIs, the calls of the one that was initialised first are decoded. Handles of the other mean
 * something else, so that its calls are recorded without sizes, peers and requests. */
#ifndef TACHO_AGENT_MPI_MPI_LIBRARY_H
#define TACHO_AGENT_MPI_MPI_LIBRARY_H

#include <stdint.h>
#include <string.h>

#include "agent/core/word_calls.h"
#include "wire/wire_mpi.h"

#define MPI_STATUS_MAX 32 /* bytes of the largest status */
#define MPI_BY_CALL 255
#define MPI_KNOWS_NONE 0x10000

struct mpi_flavour {
    uint8_t handle_bytes;
    uint8_t status_bytes, source_at, tag_at;
    uint8_t bytes_at;      /* MPI_BY_CALL: by a call */
    uint8_t counts_halves; /* 1: the upper half of the bytes is shifted by one */
    uint8_t cancelled_at;  /* its lowest bit; MPI_BY_CALL: by a call */
    uint8_t mixes_up_both; /* the status of MPI_Isendrecv() is that of another message */
    int8_t proc_null, root;
    int64_t in_place;
    uintptr_t status_ignore;
    uint64_t world, null_comm, null_type, byte; /* handles; Open MPI's are addresses, found when it is loaded */
};

/* The words of the calls are handles, as wide as they come, and addresses. */
typedef int mpi_local_call(uint64_t, uint64_t, uint64_t, uint64_t, uint64_t);
enum mpi_local {
    MPI_LOCAL_Type_size_x,
    MPI_LOCAL_Type_size,
    MPI_LOCAL_Comm_size,
    MPI_LOCAL_Comm_rank,
    MPI_LOCAL_Comm_test_inter,
    MPI_LOCAL_Comm_remote_size,
    MPI_LOCAL_Comm_group,
    MPI_LOCAL_Comm_remote_group,
    MPI_LOCAL_Group_translate_ranks,
    MPI_LOCAL_Group_free,
    MPI_LOCAL_Initialized,
    MPI_LOCAL_Finalized,
    MPI_LOCAL_Get_elements_x,
    MPI_LOCAL_Topo_test,
    MPI_LOCAL_Cartdim_get,
    MPI_LOCAL_Graph_neighbors_count,
    MPI_LOCAL_Dist_graph_neighbors_count,
    MPI_LOCAL_Group_from_session_pset,
    MPI_LOCAL_Test_cancelled,
    MPI_LOCAL_COUNT
};

extern struct mpi_library {
    struct mpi_flavour flavour;
    uint32_t kind;             /* enum wire_mpi_flavour */
    uint32_t known;            /* word_call.library of calls that can be decoded: of one MPI only */
    _Atomic uint32_t is_ready; /* local calls may be made */
    uint32_t has_world;        /* MPI_COMM_WORLD may be used; not so in a program with sessions alone */
    uint64_t world_group;      /* 0: none */
    mpi_local_call *calls[MPI_LOCAL_COUNT];
} mpi;

/* MPI_Init() has returned, or may have: finds the library, and sets is_ready if calls may be made. Keeps errno.
 * session: the one that MPI_Session_init() returned; 0: none. library: word_call.library of the call. */
void mpi_library_find(uint64_t session, uint32_t library);
void mpi_library_end(void); /* MPI_Finalize() begins; keeps errno */

/* Calls a function of enum mpi_local; the result is 0 or an MPI error. Keeps errno: the program has not made this call.
 */
int mpi_local(enum mpi_local local, uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t e);
#define MPI_WORD(value) ((uint64_t)(uintptr_t)(value))
#define MPI_LOCAL_5(local, a, b, c, d, e, ...)                                                                         \
    mpi_local(MPI_LOCAL_##local, MPI_WORD(a), MPI_WORD(b), MPI_WORD(c), MPI_WORD(d), MPI_WORD(e))
#define MPI_LOCAL(local, ...) MPI_LOCAL_5(local, __VA_ARGS__, 0, 0, 0, 0, 0)

static inline int mpi_knows(const struct word_call *call)
{
    return call->library == mpi.known;
}

static inline uint64_t mpi_handle(uint64_t word)
{
    return mpi.flavour.handle_bytes == 4 ? (uint32_t)word : word;
}
static inline uint64_t mpi_load_handle(uint64_t address, uint64_t index)
{
    return mpi.flavour.handle_bytes == 4 ? ((const uint32_t *)address)[index] : ((const uint64_t *)address)[index];
}

static inline int32_t mpi_status_int(const void *status, uint32_t at)
{
    int32_t value;
    memcpy(&value, (const char *)status + at, sizeof value);
    return value;
}
int mpi_status_is_cancelled(const void *status);
uint64_t mpi_status_bytes(const void *status); /* or WIRE_MPI_NO_SIZE */
uint64_t mpi_type_bytes(uint64_t type);        /* 0 for the null handle */

#endif
