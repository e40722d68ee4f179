/* Where collectives come from: a source reads its tables and adds the calls that it finds. */
#ifndef TACHO_ANALYZE_MODEL_RANKS_COLLECTIVES_STATE_H
#define TACHO_ANALYZE_MODEL_RANKS_COLLECTIVES_STATE_H

#include "base/map.h"
#include "collectives.h"
#include "process_ranks.h"

struct named_communicator {
    uint64_t name;
    uint64_t index; /* + 1 */
};
MAP(communicator_map, struct named_communicator, uint64_t, name, index, hash_number, map_is_same_number)

struct known_rank {
    uint64_t rank;          /* + 1 */
    const char *host;
    size_t part;            /* of the set, + 1; 0: it is no set */
    int64_t clock_error_ns; /* of the part; -1: not known */
};
MAP(known_rank_map, struct known_rank, uint64_t, rank, rank, hash_number, map_is_same_number)

struct collectives_state {
    struct arena arena;
    const struct filter *filter;
    struct communicator_map by_name;
    struct process_ranks ranks;
    struct known_rank_map known;
    int is_merged; /* parts are those that a merged report was made of */
    size_t communicator_room, call_room, instance_room;
};

/* The communicator with this name, added if it is new: then `is_new` is set and its members are the caller's to fill.
 * NULL when memory is short. */
struct collective_communicator *collectives_communicator(struct collectives *all, uint64_t name, int *is_new);
/* Adds a call that passes the filter. rank: used if the rank of the process is not known otherwise. */
int collectives_add(struct collectives *all, const struct collective_communicator *communicator,
                    const struct collective_call *call, int64_t rank);

/* A row of collective_sources[]. */
struct collective_source {
    const char *table; /* that it needs */
    int (*read)(struct collectives *all, struct error *err);
};
extern const struct collective_source collective_source_mpi, collective_source_nccl, collective_source_torch;

/* Drops the calls of communicators that were guessed wrongly: whose ranks did different things at the same number, or
 * did them at different times. */
void collectives_check_guesses(struct collectives *all);

#endif
