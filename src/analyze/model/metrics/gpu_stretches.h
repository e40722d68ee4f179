/* GPU metrics of kernels, ranges, steps or operators: samples joined with the stretches of time in which their work ran
 * on a GPU.
 *
 * A sample counts for a group of stretches if they cover enough of its interval, and then with the time that they
 * cover. Work of a group that ran side by side counts once; different groups may share a sample. One merge of both in
 * order of time: the cost grows with samples plus stretches, not with their product. */
#ifndef TACHO_ANALYZE_MODEL_METRICS_GPU_STRETCHES_H
#define TACHO_ANALYZE_MODEL_METRICS_GPU_STRETCHES_H

#include "analyze/engine/keys.h"
#include "gpu_metrics.h"

enum { STRETCH_GPU, STRETCH_A, STRETCH_B, STRETCH_PARTS };

struct gpu_stretch {
    int64_t start_ns, end_ns;
    uint32_t group;
};

/* Starts from GPU_STRETCHES_NONE. */
struct gpu_stretches {
    struct keys groups;       /* of STRETCH_PARTS: the GPU, and what the caller groups by */
    struct gpu_stretch *list; /* owned */
    size_t count, room;
};
#define GPU_STRETCHES_NONE { .groups.width = STRETCH_PARTS }

/* ERR_NO_MEMORY or 0. A stretch that ends before it begins is ignored. */
int gpu_stretches_add(struct gpu_stretches *stretches, const int64_t key[STRETCH_PARTS], int64_t start_ns,
                      int64_t end_ns);
void gpu_stretches_free(struct gpu_stretches *stretches);

/* The samples of a metric that count for a group. */
struct gpu_stretch_figures {
    double sum, min, max; /* sum: of value × ns; the others are meaningless without samples */
    int64_t covered_ns;   /* by samples */
    int64_t samples;
};

struct gpu_stretch_join {
    struct gpu_stretch_figures *figures; /* owned; of group g from first[g] on, in the order of its GPU's metrics */
    size_t *first;                       /* owned; by group */
    int64_t *busy_ns;                    /* owned; by group: time with work */
};

/* Joins; sorts the stretches. percent: how much of a sample's interval a group must cover. */
int gpu_stretches_join(struct gpu_stretch_join *join, struct gpu_stretches *stretches,
                       const struct gpu_metrics *metrics, int64_t percent);
void gpu_stretch_join_free(struct gpu_stretch_join *join);

static inline double gpu_stretch_mean(const struct gpu_stretch_figures *figures)
{
    return figures->sum / (double)figures->covered_ns;
}

#endif
