/* Matches launches with their kernels, as a check of the recorded data.
 *
 * A launch (an API call) and its kernels have the same correlation id and come in any order, from different buffers.
 * Ids count up: each has a place in a ring, which it leaves to the id that comes round to it. The ring grows while
 * halves that wait would be driven out, up to a million ids (16 MiB); halves that are further apart count as
 * unmatched. Times are CUPTI's. A launch into a stream that is being captured makes a graph node and no kernel. Calls
 * do not say which stream they are for, so launches without a kernel do not count while any capture is on; such a loss
 * would go unnoticed. */
#ifndef TACHO_COLLECT_SOURCES_CUDA_CUDA_LAUNCHES_H
#define TACHO_COLLECT_SOURCES_CUDA_CUDA_LAUNCHES_H

#include <stdint.h>

#define CUDA_CAPTURES_MAX 1024u /* past captures to remember; a power of two */

struct cuda_pair {
    uint64_t ns;        /* start of the launch, or of the first kernel */
    uint32_t id;
    uint32_t state : 2; /* enum pair_state; 0: empty */
    uint32_t kernels : 30;
};

struct cuda_capture {
    uint64_t from_ns, to_ns;
    uint32_t thread;
};

struct cuda_pairs {
    struct cuda_pair *places;                        /* by id; the number is a power of two */
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

/* Adds a successful call. The runtime calls the driver: if both are recorded, they count as one launch. */
void cuda_launches_launch(struct cuda_pairs *pairs, const struct cuda_launch *launch);

/* Adds a kernel, or a whole graph. */
void cuda_launches_kernel(struct cuda_pairs *pairs, uint32_t id, uint64_t start_ns);

void cuda_launches_capture_begins(struct cuda_pairs *pairs, uint32_t thread, uint64_t ns);
void cuda_launches_capture_ends(struct cuda_pairs *pairs, uint32_t thread, uint64_t ns);

/* Counts everything that still waits; call it after the last record. */
void cuda_launches_settle(struct cuda_pairs *pairs);

#endif
