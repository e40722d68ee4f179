/* The requests that the process has started and not completed, by handle, and the messages that it has probed. */
#ifndef TACHO_AGENT_MPI_MPI_REQUEST_H
#define TACHO_AGENT_MPI_MPI_REQUEST_H

#include <stdint.h>

enum mpi_request_bit {
    MPI_REQUEST_RECEIVES = 1, /* its status says what has arrived */
    MPI_REQUEST_PERSISTS = 2,
    MPI_REQUEST_SHARES = 4,   /* another request may have the same handle */
    MPI_REQUEST_UNTOLD = 8,   /* its call's record has no number, so its end is not recorded */
};

struct mpi_request {
    uint32_t number; /* in records, from 1; 0: not known */
    uint32_t bits;   /* enum mpi_request_bit */
};

/* Returns the new request's number; 0 if there is no room. */
uint32_t mpi_request_add(uint64_t handle, uint32_t bits);
struct mpi_request mpi_request_of(uint64_t handle);
void mpi_request_remove(uint64_t handle, uint32_t number);
void mpi_requests_forget(void);

/* The communicator of a message that MPI_Mprobe() returned. */
void mpi_message_add(uint64_t handle, uint32_t communicator);
uint32_t mpi_message_take(uint64_t handle); /* 0: not known */

#endif
