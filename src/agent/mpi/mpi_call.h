/* A call to MPI, between its begin and its end. */
#ifndef TACHO_AGENT_MPI_MPI_CALL_H
#define TACHO_AGENT_MPI_MPI_CALL_H

#include "agent/core/source.h"
#include "mpi_library.h"
#include "mpi_request.h"
#include "mpi_sizes.h"

/* The agent's words of struct word_call. */
struct mpi_call {
    uint64_t begin;             /* ticks */
    uint64_t sent, received;
    struct mpi_comm comm;
    uint64_t comm_handle;       /* 0: none */
    uint64_t handle;            /* of its request, at its begin */
    struct mpi_request request; /* the same */
    uint32_t count;             /* of requests in the thread's buffer */
    const char *status;         /* to read at its end: the program's or ours; NULL: none */
    uint64_t room[MPI_STATUS_MAX / 8];
};
_Static_assert(sizeof(struct mpi_call) <= sizeof(uint64_t[WORD_CALL_OWN]), "it lies there");

static inline struct mpi_call *mpi_call_of(struct word_call *call)
{
    return (struct mpi_call *)call->own;
}
static inline uint32_t mpi_function_of(const struct word_call *call)
{
    return call->function < MPI_FUNCTION_COUNT ? call->function : call->function - MPI_FUNCTION_COUNT;
}

struct mpi_thread {
    uintptr_t frame; /* of the outermost call that the thread is in; 0: none */
    uint64_t mark;   /* mpi_call.begin of that call */
    /* Requests of a call on an array of them: struct mpi_waited, then statuses. */
    struct mpi_waited *waited;
    uint64_t waited_bytes;
};

/* A request of an array, as it was before the call. */
struct mpi_waited {
    uint64_t handle;
    struct mpi_request request;
};

/* mpi_wait.c: the begin and the end of calls that start or complete requests. */
void mpi_wait_begin(struct mpi_thread *state, struct word_call *call, const struct mpi_shape *shape);
void mpi_wait_end(struct agent_thread *thread, struct mpi_thread *state, struct word_call *call,
                  const struct mpi_shape *shape);
/* Lets MPI write the status of a call into our memory if the program wants none. */
void mpi_want_status(struct word_call *call, const struct mpi_shape *shape);
void mpi_wait_free(struct mpi_thread *state);

#endif
