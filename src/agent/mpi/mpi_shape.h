/* The shape of an MPI function, from mpi_calls.def: which of its parameters is what, and what the agent does with it.
 */
#ifndef TACHO_AGENT_MPI_MPI_SHAPE_H
#define TACHO_AGENT_MPI_MPI_SHAPE_H

#include "wire/wire_mpi.h"

enum mpi_action {
    MPI_DOES_NOTHING,
    MPI_DOES_INIT,
    MPI_DOES_SESSION_INIT,
    MPI_DOES_FINALIZE,
    MPI_DOES_SESSION_FINALIZE,
    MPI_DOES_ABORT,
    MPI_DOES_PCONTROL,
    MPI_DOES_COMM_FREED,
    MPI_DOES_PROBE,
    MPI_DOES_POLL,       /* it asks whether something has ended, and changes nothing */
    MPI_DOES_REQUEST,    /* it starts a request */
    MPI_DOES_PERSISTENT, /* it makes a request that others start */
    MPI_DOES_STARTED,    /* it starts persistent requests */
    MPI_DOES_STARTED_ALL,
    MPI_DOES_WAIT,       /* it completes a request, or several */
    MPI_DOES_WAIT_ALL,
    MPI_DOES_WAIT_ANY,
    MPI_DOES_WAIT_SOME,
    MPI_DOES_REQUEST_FREED,
};

/* Which ranks send or receive in a collective. */
enum mpi_who { MPI_ALL, MPI_ROOT_ONLY, MPI_OTHERS };
#define MPI_ROOT_SENDS MPI_ROOT_ONLY
#define MPI_ROOT_RECEIVES MPI_ROOT_ONLY

/* How often the count counts. */
enum mpi_times {
    MPI_ONCE,      /* an array of counts: all ranks of the communicator */
    MPI_RANKS_TIMES,
    MPI_OUT_TIMES, /* neighbours to which this rank sends */
    MPI_IN_TIMES,
    MPI_OUT_SUM,   /* the array has an entry for each of those */
    MPI_IN_SUM,
    MPI_OWN_PART,  /* the entry of this rank */
};

/* Parameters count from 1; 0: the function has none such. */
struct mpi_shape {
    uint8_t table;    /* enum mpi_table */
    uint8_t action;   /* enum mpi_action */
    uint8_t is_large; /* counts have 64 bits */
    uint8_t send_buffer, send_count, send_counts, send_type, send_types;
    uint8_t receive_buffer, receive_count, receive_counts, receive_type, receive_types;
    uint8_t partitions;
    uint8_t peer, tag, source, receive_tag;
    uint8_t comm, new_comm, root, message, level;
    uint8_t request, requests, request_count, status, statuses;
    uint8_t flag, index, out_count, indices;
    uint8_t sends, receives;           /* enum mpi_who */
    uint8_t send_times, receive_times; /* enum mpi_times */
};

extern const struct mpi_shape mpi_shapes[MPI_FUNCTION_COUNT];

#endif
