/* Ranks that share a GPU: the time that a rank lost to the work of others on it.
 *
 * Ranks that share a GPU take turns on it, as those that share a CPU do (cpu_runs.h). While work of a rank is ready and
 * that of another one runs, it loses all of the time; while work of k ranks runs, as GPUs that slice their time report
 * it, each of them loses all but the k-th part. What a rank lost to the others is not its own time. */
#ifndef TACHO_ANALYZE_STRAGGLERS_GPU_SHARES_H
#define TACHO_ANALYZE_STRAGGLERS_GPU_SHARES_H

#include "analyze/model/ranks/collectives.h"

/* Work of a rank on a GPU. */
struct gpu_span {
    int64_t device, rank;
    int64_t from_ns, to_ns;
};

/* By rank, device and time; those of one rank and device do not overlap. */
struct gpu_spans {
    struct gpu_span *list; /* owned */
    size_t count, room;
};

/* From here on, as many ranks have work that runs on a GPU. */
struct gpu_share_mark {
    int64_t device, at_ns;
    int64_t ranks;
    double busy_ns; /* until here, that any had */
    double lost_ns; /* until here, by a rank whose work ran all the time */
};

/* Starts from {0}. */
struct gpu_shares {
    struct gpu_spans runs;        /* none if no GPU is shared */
    struct gpu_spans wishes;      /* with the time before in which the work was ready to run: it was launched, and what
                                   * came before it on its stream was done */
    struct gpu_share_mark *marks; /* owned; by device and time */
    size_t mark_count;
};

/* To be freed after an error too. */
int gpu_shares_read(struct gpu_shares *shares, const struct collectives *all, struct error *err);
void gpu_shares_free(struct gpu_shares *shares);

/* How much a rank lost to others in a span of time. */
int64_t gpu_shares_left_to_ranks(const struct gpu_shares *shares, int64_t rank, int64_t from_ns, int64_t to_ns);
/* How many ranks use the GPU of this one, with itself; 0: it shares none. */
size_t gpu_shares_ranks_beside(const struct gpu_shares *shares, int64_t rank);

#endif
