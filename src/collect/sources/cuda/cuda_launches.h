/* Launches and what they launched: do they fit together?
 *
 * A launch (an API call) and its kernels carry the same correlation id and come in any order, from different buffers.
 * Ids count up: each has its place in a ring, which it leaves to the id that comes round to it. The ring grows while
 * halves that wait would be driven out, up to a million ids (16 MiB); halves that are further apart are counted as if
 * the other one had never come. Times are CUPTI's. A launch into a stream that is being captured makes a node of a
 * graph and no kernel. Calls do not say which stream they are for, so launches without a kernel do not count while any
 * capture is on: such a loss would go unseen. */
#ifndef TACHO_COLLECT_SOURCES_CUDA_CUDA_LAUNCHES_H
#define TACHO_COLLECT_SOURCES_CUDA_CUDA_LAUNCHES_H

#include <stdint.h>

#define CUDA_CAPTURES_MAX 1024u /* of the past; a power of two */

struct cuda_pair {
    uint64_t ns;        /* begin of the launch, or of the first kernel */
    uint32_t id;
    uint32_t state : 2; /* enum pair_state; 0: an empty place */
    uint32_t kernels : 30;
};

struct cuda_capture {
    uint64_t from_ns, to_ns;
    uint32_t thread;
};

struct cuda_pairs {
    struct cuda_pair *places;                        /* by id; a power of two of them */
    uint32_t capacity;
    struct cuda_capture captures[CUDA_CAPTURES_MAX]; /* a ring */
    uint32_t capture_count;
    struct {
        uint64_t from_ns, to_ns;
        uint32_t id, thread;
    } inner; /* the last launch through the driver */

    uint64_t launches, launches_without_kernel, kernels_without_launch, kernels_before_launch;
};

void cuda_launches_free(struct cuda_pairs *pairs);

struct cuda_launch {
    uint64_t from_ns, to_ns;
    uint32_t id, thread;
    int is_driver;
};

/* A call that succeeded. The runtime calls the driver: where both are recorded, they are one launch. */
void cuda_launches_launch(struct cuda_pairs *pairs, const struct cuda_launch *launch);

/* A kernel, or a graph as a whole. */
void cuda_launches_kernel(struct cuda_pairs *pairs, uint32_t id, uint64_t start_ns);

void cuda_launches_capture_begins(struct cuda_pairs *pairs, uint32_t thread, uint64_t ns);
void cuda_launches_capture_ends(struct cuda_pairs *pairs, uint32_t thread, uint64_t ns);

/* No more will come: what still waits is counted. */
void cuda_launches_settle(struct cuda_pairs *pairs);

#endif
