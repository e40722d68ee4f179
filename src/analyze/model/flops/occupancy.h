/* How full kernels keep the multiprocessors, estimated from their launches, as torch and CUDA's occupancy calculation
 * do it: blocks run at once as far as warps, registers and shared memory allow. */
#ifndef TACHO_ANALYZE_MODEL_FLOPS_OCCUPANCY_H
#define TACHO_ANALYZE_MODEL_FLOPS_OCCUPANCY_H

#include "report/reader/reader.h"

/* A GPU, as far as it limits how many blocks run at once; 0: not known. */
struct occupancy_gpu {
    int64_t device, sm_count, compute_major, compute_minor, max_warps, max_blocks, registers, shared_bytes;
};

struct occupancy_gpus {
    struct occupancy_gpu *list; /* owned */
    size_t count;
};
int occupancy_gpus_read(struct occupancy_gpus *gpus, struct report *report, struct error *err);
void occupancy_gpus_free(struct occupancy_gpus *gpus); /* of {0} too */

/* The limit that keeps more warps from running at once. */
enum occupancy_limit { LIMIT_GRID, LIMIT_WARPS, LIMIT_BLOCKS, LIMIT_REGISTERS, LIMIT_SHARED_MEMORY, OCCUPANCY_LIMITS };
const char *occupancy_limit_name(enum occupancy_limit limit);

struct occupancy_kernel {
    int64_t device, grid, block_threads, registers, shared_bytes;
};

/* 0 where the GPU is not known well enough. */
struct occupancy {
    double blocks, warps; /* of the grid, for each multiprocessor */
    double waves;         /* the same by how many blocks run at once */
    double percent;       /* of the most warps that run at once */
    enum occupancy_limit limit;
    int is_known;         /* waves, percent and limit are */
};
struct occupancy occupancy_of(const struct occupancy_gpus *gpus, const struct occupancy_kernel *kernel);

#endif
