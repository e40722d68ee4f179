/* The records of MPI calls, and the shapes of the functions in mpi_calls.def.
 *
 * The agent knows communicators by numbers of its own: 1 is the first that the process used, and a handle that MPI
 * reuses gets a new number. It describes each before the first record that names it. Ranks in records are those that
 * the program passed or MPI returned: they count within the communicator. The collector translates them. */
#ifndef TACHO_WIRE_WIRE_MPI_H
#define TACHO_WIRE_WIRE_MPI_H

#include "wire.h"

enum wire_mpi_type {
    /* Calls; a: row of mpi_calls.def; ticks: begin. [x | y]: x in the upper half. */

    /* flags: enum wire_mpi_other; body: [duration in ticks]; if it moves data: [bytes][rank of the target,
     * WIRE_MPI_NO_RANK: none | 0] */
    WIRE_MPI_OTHER = WIRE_FIRST_MPI,
    /* A message that this rank sends or receives, or a probe. flags: enum wire_mpi_message; body: [duration][bytes,
     * WIRE_MPI_NO_SIZE: not known][rank of the peer | tag, both may be WIRE_MPI_NO_RANK][communicator | 0][its handle]
     * [number of the request, 0: none][handle of the request][address that the call returns to] */
    WIRE_MPI_P2P,
    /* flags: WIRE_MPI_IS_PENDING, WIRE_MPI_PERSISTS; body: [duration][bytes sent][bytes received][communicator | root,
     * WIRE_MPI_NO_RANK: none][handle of the communicator][number of the request][handle of the request][address that
     * the call returns to] */
    WIRE_MPI_COLLECTIVE,
    /* b: number of requests that it completed or started, which follow as triples. flags: enum wire_mpi_wait; body:
     * [duration][handle of its request, 0: several], triples, as of WIRE_MPI_DONE, [address it returns to] */
    WIRE_MPI_START_WAIT,
    /* More triples of the WIRE_MPI_START_WAIT that comes next: [number of the request][bytes that arrived,
     * WIRE_MPI_NO_SIZE: it received nothing, or nobody knows; WIRE_MPI_CANCELLED][source | tag]. b: their number;
     * flags: enum wire_mpi_wait */
    WIRE_MPI_DONE,

    /* Notes. */

    /* A communicator. a: bit 0: the members are those of the remote group; bit 1: it is an intercommunicator, whose
     * remote group comes last; body: [number][handle]
     * [parent's number][size | rank of this process][index of the first member below], and members as world ranks, two
     * a word, -1: in another world */
    WIRE_MPI_COMMUNICATOR,
    WIRE_MPI_COMMUNICATOR_FREED, /* body: [number] */
    /* MPI is initialised. a: enum wire_mpi_flavour; body: [rank in MPI_COMM_WORLD, WIRE_MPI_NO_RANK: there is none
     * | size] */
    WIRE_MPI_RANK,
};
WIRE_TYPES_END_AT(MPI, WIRE_MPI_RANK);

enum wire_mpi_other {
    WIRE_MPI_WAS_LEFT = 1, /* a call of any table that a jump or an exception has left: only its begin is known */
};

enum wire_mpi_message {
    WIRE_MPI_SENDS = 1,      /* neither: it moves nothing, as with MPI_PROC_NULL */
    WIRE_MPI_RECEIVES = 2,
    WIRE_MPI_IS_EVENT = 4,   /* the call's event; the receiving half of MPI_Sendrecv() is a message only */
    WIRE_MPI_IS_PENDING = 8, /* the message ends when the request does */
    WIRE_MPI_PERSISTS = 16,  /* nothing moves before MPI_Start() */
};

enum wire_mpi_wait {
    WIRE_MPI_COMPLETED,
    WIRE_MPI_STARTED, /* the triples are persistent requests, which were started */
};

#define WIRE_MPI_NO_RANK INT32_MIN
#define WIRE_MPI_NO_SIZE UINT64_MAX
#define WIRE_MPI_CANCELLED (UINT64_MAX - 1)

static inline uint64_t wire_mpi_pair(int64_t upper, int64_t lower)
{
    return (uint64_t)upper << 32 | (uint32_t)lower;
}
static inline int32_t wire_mpi_upper(uint64_t pair)
{
    return (int32_t)(pair >> 32);
}
static inline int32_t wire_mpi_lower(uint64_t pair)
{
    return (int32_t)pair;
}

/* What differs between MPIs is a row of flavours[] in the agent's mpi_library.c. */
#define WIRE_MPI_FLAVOURS(X)                                                                                           \
    X(UNKNOWN, "unknown")                                                                                              \
    X(OPEN_MPI, "Open MPI")                                                                                            \
    X(MPICH, "MPICH")                                                                                                  \
    X(ABI, "MPI ABI")

enum wire_mpi_flavour {
#define WIRE_MPI_FLAVOUR_ID(id, text) WIRE_MPI_##id,
    WIRE_MPI_FLAVOURS(WIRE_MPI_FLAVOUR_ID) WIRE_MPI_FLAVOUR_COUNT
#undef WIRE_MPI_FLAVOUR_ID
};

/* ---- Functions ------------------------------------------------------------------------------------------------- */

enum mpi_function {
#define MPI_CALL(name, ...) MPI_FUNCTION_##name,
#include "mpi_calls.def"
#undef MPI_CALL
    MPI_FUNCTION_COUNT
};

enum mpi_table { MPI_TABLE_P2P, MPI_TABLE_COLLECTIVE, MPI_TABLE_START_WAIT, MPI_TABLE_OTHER };

struct wire_mpi_shared {
    _Alignas(64) uint32_t chosen; /* enum wire_mpi_flavour, of --mpi-impl, for an MPI that the agent does not know */
    /* Requests that the agent had no room for: their calls are recorded, their ends are not. The agent counts. */
    _Atomic uint64_t unfollowed;
};
WIRE_SHARED(MPI, struct wire_mpi_shared, wire_mpi)

#define WIRE_MPI_FILE "libtacho-mpi.so" /* the object with the stubs; it lies beside the agent */

#endif
