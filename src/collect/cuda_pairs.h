/* Launches and what they launched: do they fit together?
 *
 * A launch (an API call) and its kernels carry the same correlation id and come in any order, from different buffers. Those
 * that wait for the other half are kept in a table; a pair leaves it. Memory is bounded: ids that are far behind the newest
 * are settled early, as if the process had ended there. Times are CUPTI's.
 * A launch into a stream that is being captured makes a node of a graph and no kernel. Calls do not say which stream they
 * are for, so launches without a kernel do not count while any capture is on: such a loss would go unseen. */
#ifndef TACHO_COLLECT_CUDA_PAIRS_H
#define TACHO_COLLECT_CUDA_PAIRS_H

#include <stdint.h>

#define CUDA_DONE_IDS 4096u     /* a power of two */
#define CUDA_CAPTURES_MAX 1024u /* of the past; a power of two */

struct cuda_pair {
    uint64_t ns;       /* begin of the launch, or of the first kernel */
    uint32_t id;
    uint32_t kernels;
    uint32_t state;    /* enum pair_state; 0: an empty slot */
    uint32_t unused;
};

struct cuda_capture {
    uint64_t from_ns, to_ns;
    uint32_t thread;
};

struct cuda_pairs {
    struct cuda_pair *slots;
    uint32_t capacity, count;
    uint32_t newest;                     /* id */
    uint32_t done[CUDA_DONE_IDS];        /* ids of launches that had their kernel, the latest of each place */
    struct cuda_capture captures[CUDA_CAPTURES_MAX]; /* a ring */
    uint32_t capture_count;
    struct { uint64_t from_ns, to_ns; uint32_t id, thread; } inner; /* the last launch through the driver */

    uint64_t launches, launches_without_kernel, kernels_without_launch, kernels_before_launch;
};

void cuda_pairs_free(struct cuda_pairs *pairs);

struct cuda_launch {
    uint64_t from_ns, to_ns;
    uint32_t id, thread;
    int is_driver, is_graph;
};

/* A call that succeeded. The runtime calls the driver: where both are recorded, they are one launch. */
void cuda_pairs_launch(struct cuda_pairs *pairs, const struct cuda_launch *launch);

/* A kernel, or a graph as a whole. */
void cuda_pairs_kernel(struct cuda_pairs *pairs, uint32_t id, uint64_t start_ns);

void cuda_pairs_capture_begins(struct cuda_pairs *pairs, uint32_t thread, uint64_t ns);
void cuda_pairs_capture_ends(struct cuda_pairs *pairs, uint32_t thread, uint64_t ns);

/* No more will come: what still waits is counted. */
void cuda_pairs_settle(struct cuda_pairs *pairs);

#endif
