/* The communicators that the process has used, by handle. */
#ifndef TACHO_AGENT_MPI_MPI_COMM_H
#define TACHO_AGENT_MPI_MPI_COMM_H

#include <stdint.h>

struct mpi_comm {
    uint32_t number; /* in records; 0: not known */
    int32_t size;    /* ranks that a collective reaches: of the remote group of an intercommunicator */
    int32_t rank;    /* of this process; -1: not known */
    uint32_t is_inter;
};

/* What is known about a communicator; describes it to the collector when it is new. parent: the number of the
 * communicator that it was made of, or 0. Only while local calls may be made. */
struct mpi_comm mpi_comm_of(uint64_t handle, uint32_t parent);
void mpi_comm_forget(uint64_t handle); /* it is freed */
void mpi_comm_forget_all(void);

/* Neighbours in the topology of a communicator. */
void mpi_comm_degrees(uint64_t handle, int32_t rank, int32_t *in, int32_t *out);

#endif
