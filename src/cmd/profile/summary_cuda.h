/* What the last lines of a capture say about GPUs, a line each. */
#ifndef TACHO_CMD_PROFILE_SUMMARY_CUDA_H
#define TACHO_CMD_PROFILE_SUMMARY_CUDA_H

#include "analyze/engine/analysis.h"
#include "analyze/model/gpu_busy.h"
#include "base/text.h"
#include "collect/collect.h"

struct closing_cuda {
    struct gpu_busy busy;                  /* no device: there was no work on a GPU */
    struct table *kernels, *times, *sizes; /* cuda_gpu_kern_sum, …mem_time_sum, …mem_size_sum;
                                            * NULL where there is no data */
    struct table *idle;                    /* gpu_idle_sum */
};

/* What cannot be read is left out: a capture must end with what there is. */
void summary_cuda_read(struct closing_cuda *cuda, struct report *report);
void summary_cuda_free(struct closing_cuda *cuda);

/* "GPU 0 (NVIDIA H200) busy 82.1 % of the 31.7 ms from its first work to its last; 4.0 % of the 652 ms recorded" */
void summary_cuda_add_busy(struct text *out, const struct closing_cuda *cuda, struct report *report,
                           int64_t captured_ns);
/* Time and bytes of copies and fills, the longest kinds first. */
void summary_cuda_add_copies(struct text *out, const struct closing_cuda *cuda);
/* The longest times in which a GPU had no work. */
void summary_cuda_add_gaps(struct text *out, const struct closing_cuda *cuda);
/* What GPUs were without work for most of all, if anything is known of that. */
int summary_cuda_has_idle(const struct closing_cuda *cuda);
void summary_cuda_add_idle(struct text *out, const struct closing_cuda *cuda);

/* Where the records do not fit together, and why CUDA was not traced: at most two lines, none if all is well. */
void summary_cuda_add_truth(struct text *out, const struct collect_result *result, int has_work);

#endif
