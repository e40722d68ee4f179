/* The kind of a collective operation, by its name in MPI, NCCL, gloo or c10d. */
#ifndef TACHO_ANALYZE_MODEL_RANKS_COLLECTIVE_KINDS_H
#define TACHO_ANALYZE_MODEL_RANKS_COLLECTIVE_KINDS_H

#include <stdint.h>

enum collective_kind {
    COLLECTIVE_OTHER,
    COLLECTIVE_BARRIER,
    COLLECTIVE_ALLREDUCE,
    COLLECTIVE_ALLGATHER,
    COLLECTIVE_REDUCE_SCATTER,
    COLLECTIVE_ALLTOALL,
    COLLECTIVE_BROADCAST,
    COLLECTIVE_SCATTER,
    COLLECTIVE_REDUCE,
    COLLECTIVE_GATHER,
    COLLECTIVE_SCAN,
    COLLECTIVE_KINDS
};

/* "MPI_Iallreduce_c", "AllReduce", "ncclDevKernel_AllReduce_Sum_f32_RING_LL", "gloo:all_reduce", "c10d::allreduce_"
 * are all COLLECTIVE_ALLREDUCE. */
enum collective_kind collective_kind_of(const char *name);

/* Whether nobody leaves it before everybody has entered. */
int collective_synchronises(enum collective_kind kind);
/* Whether one rank, the root, sends to all others, or receives of them. */
int collective_sends_from_root(enum collective_kind kind);
int collective_sends_to_root(enum collective_kind kind);

/* Whether all ranks must bring the same number of bytes. */
int collective_has_one_size(enum collective_kind kind);

/* Bus bandwidth for each byte/s of algorithm bandwidth, as nccl-tests counts them; 0: not known. The size of an
 * operation is there the larger of what a rank sends and what it receives: of an allgather, the whole result. */
double collective_bus_factor(enum collective_kind kind, int64_t ranks);

#endif
