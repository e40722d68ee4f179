/* The collective calls of MPI in a report, numbered as all ranks number them: all ranks of a communicator call its
 * collectives in the same order, so an instance is the communicator, whose name is the same on all ranks, and how many
 * it called before. */
#ifndef TACHO_ANALYZE_MODEL_RANKS_MPI_COLLECTIVES_H
#define TACHO_ANALYZE_MODEL_RANKS_MPI_COLLECTIVES_H

#include "report/reader/reader.h"

struct mpi_collective {
    uint64_t communicator; /* hash of its name */
    uint64_t sequence;     /* collectives that the rank has called on it before */
    int64_t members;       /* string id: "0,2,4", ranks of MPI_COMM_WORLD; 0: not known */
    int64_t comm_size;     /* its ranks; 0: not known */
    int64_t before;        /* communicators with the same members that were made before */
    int64_t start_ns;
    int64_t end_ns;        /* of the call, or of the call that completed its request; INT64_MIN: there was none */
    int64_t thread;
    int64_t row_rank;      /* the column `rank`; -1: none */
    int64_t operation;     /* string id of the function */
    int64_t sent, received, root; /* -1: not known */
    int is_nonblocking;
};

/* Calls visit for each collective call whose communicator is known, in the order of their starts. A visit that returns
 * non-zero ends the walk with that code. */
int mpi_collectives_walk(struct report *report,
                         int (*visit)(void *context, struct report *report, const struct mpi_collective *call),
                         void *context, struct error *err);

#endif
