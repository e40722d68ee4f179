/* Which ranks of MPI the others wait for, because they have more to do.
 *
 * mpi_waits.h knows which call waited for which rank. A rank that waits for one that waits itself, for half as long at
 * least, waits for the rank that this one waits for. So each rank waits for one other in the end, or for none. If all
 * work were spread evenly, each rank would take the mean: less by what all ranks wait for the one, without what that
 * one waits itself, divided by the number of ranks. That is wall time, not a sum over ranks.
 *
 * The report of one rank alone does not say when the others came. Its blocking calls are known, and of messages the
 * rank that sends them: then at most their time is due to that rank. */
#ifndef TACHO_ANALYZE_STRAGGLERS_MPI_BLAME_H
#define TACHO_ANALYZE_STRAGGLERS_MPI_BLAME_H

#include "analyze/engine/keys.h"
#include "analyze/model/filter.h"
#include "analyze/model/ranks/mpi_job.h"

enum { MPI_BLAME_NO_STATE = -1 }; /* of a call whose wait is not known */
enum { MPI_BLAME_NONE = UINT32_MAX };

struct mpi_blame_sum {
    int64_t total_ns, count;
};

/* What a rank waited, and for whom. Ranks have numbers from 0, in the order in which they were found. */
struct mpi_blame_rank {
    int64_t rank, waited_ns;
    uint32_t most; /* the rank that it waited for most, a number; MPI_BLAME_NONE: none */
    int64_t most_ns;
    uint32_t root; /* whom it waits for in the end; MPI_BLAME_NONE: none */
};

struct mpi_blame {
    struct report *report;
    const struct filter *filter;
    struct mpi_job job;
    struct intern names;             /* of calls */
    struct keys waits, pairs, sites; /* by rank, cause, state, call and line; by rank and cause; by root */
    struct mpi_blame_sum *sums;      /* owned; by key of waits */
    size_t sum_room;
    int64_t *pair_ns;                /* owned; by key of pairs */
    size_t pair_room;
    struct mpi_blame_sum *site_sums; /* owned; by key of sites */
    size_t site_room;
    struct keys numbers;             /* of ranks */
    struct mpi_blame_rank *ranks;    /* owned; by number */
    size_t rank_room;
    int64_t world_size;
    int is_alone;                    /* the report has one rank of several: calls, not waits */
};

/* The filter must live as long. mpi_blame_free() is safe after an error. */
int mpi_blame_read(struct mpi_blame *blame, struct report *report, const struct filter *filter, struct error *err);
void mpi_blame_free(struct mpi_blame *blame);

/* Whether a rank waits for this one in the end. In the report of one rank, that rank stands for those it waits for. */
int mpi_blame_waits_for(const struct mpi_blame *blame, uint32_t rank, uint32_t root);

/* All waits for a rank. */
struct mpi_blamed {
    uint32_t root;
    int64_t total_ns, impact_ns, waiting; /* impact: wall time; waiting: ranks */
};
struct mpi_blamed mpi_blame_of(const struct mpi_blame *blame, uint32_t root);

/* The call and the line at which most of it was waited. */
struct mpi_blame_site {
    int64_t cause;                            /* a rank, or MPI_RANK_UNKNOWN: all others */
    int state;                                /* enum mpi_wait_state, or MPI_BLAME_NO_STATE */
    const struct intern_string *call, *place; /* place: NULL: not known */
    struct mpi_blame_sum sum;
};
struct mpi_blame_site mpi_blame_longest(const struct mpi_blame *blame, uint32_t root);

#endif
