/* The rank in MPI_COMM_WORLD of each process, from MPI_RANKS. */
#ifndef TACHO_ANALYZE_MODEL_RANKS_MPI_RANKS_H
#define TACHO_ANALYZE_MODEL_RANKS_MPI_RANKS_H

#include "analyze/engine/event_columns.h"
#include "base/map.h"

struct mpi_process {
    uint64_t process; /* + 1: a global id may be 0 */
    int64_t rank;
};
MAP(mpi_ranks, struct mpi_process, uint64_t, process, process, hash_number, map_is_same_number)

enum { MPI_RANK_UNKNOWN = -1 };

/* Free with mpi_ranks_free(), also after an error. */
int mpi_ranks_read(struct mpi_ranks *ranks, struct report *report, struct error *err);

/* The rank of a thread's process, or MPI_RANK_UNKNOWN. */
static inline int64_t mpi_rank_of(const struct mpi_ranks *ranks, int64_t global_tid)
{
    const struct mpi_process *found = mpi_ranks_find(ranks, (uint64_t)global_process(global_tid) + 1);

    return found ? found->rank : MPI_RANK_UNKNOWN;
}

#endif
