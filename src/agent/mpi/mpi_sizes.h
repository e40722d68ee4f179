/* How much a call sends and receives, by a walk over its shape. */
#ifndef TACHO_AGENT_MPI_MPI_SIZES_H
#define TACHO_AGENT_MPI_MPI_SIZES_H

#include "agent/core/word_calls.h"
#include "mpi_comm.h"
#include "mpi_shape.h"

/* A parameter of the call, by its place in the shape. */
static inline uint64_t mpi_word(const struct word_call *call, uint8_t place)
{
    return word_call_word(call, place - 1u);
}
static inline int32_t mpi_int(const struct word_call *call, uint8_t place)
{
    return (int32_t)mpi_word(call, place);
}

/* Bytes of a message, or WIRE_MPI_NO_SIZE if the function has no such side. */
uint64_t mpi_bytes_sent(const struct word_call *call, const struct mpi_shape *shape);
uint64_t mpi_bytes_wanted(const struct word_call *call, const struct mpi_shape *shape); /* room for a receive */

/* The same for a collective: all that this rank sends to others and to itself, and all that it receives. Parameters
 * that are not significant on this rank may be anything, and are not read. */
struct mpi_amounts {
    uint64_t sent, received;
};
struct mpi_amounts mpi_collective_bytes(const struct word_call *call, const struct mpi_shape *shape,
                                        const struct mpi_comm *comm);

#endif
