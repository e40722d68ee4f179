/* The highest rates of a GPU, by type of data: multiprocessors × clock × operations of a multiprocessor in a cycle.
 * Rates are dense (without structured sparsity) and, for tensor cores, with accumulation in fp32. */
#ifndef TACHO_ANALYZE_MODEL_FLOPS_GPU_PEAKS_H
#define TACHO_ANALYZE_MODEL_FLOPS_GPU_PEAKS_H

#include "report/reader/reader.h"

enum gpu_rate {
    RATE_FP64,
    RATE_FP64_TENSOR,
    RATE_FP32,
    RATE_TF32,
    RATE_FP16, /* and bf16, on tensor cores */
    RATE_FP8,
    RATE_INT8,
    RATE_FP4,
    RATE_MEMORY,
    GPU_RATES
};

struct gpu_peaks {
    double rate[GPU_RATES]; /* operations or bytes per second; 0: the GPU cannot, or it is not known */
};

/* The facts that a report has about a GPU; 0 and NULL: not known. */
struct gpu_facts {
    const char *name;
    int64_t compute_major, compute_minor, sm_count, clock_hz, memory_bytes_s;
};

/* The peaks of a GPU. A name that the table has decides the clock, else it is that of the report, which only the
 * shortest kernels reach on some GPUs. */
struct gpu_peaks gpu_peaks_of(const struct gpu_facts *facts);

/* Replaces rates by those of a list such as "bf16=989,memory=4800": TFLOP/s, and GB/s of memory; '+' separates too.
 * ERR_BAD_ARGUMENT with a sentence. */
int gpu_peaks_set(struct gpu_peaks *peaks, const char *list, struct error *err);

/* The peaks of the first GPU of the report on which a kernel ran, with the changes of list (may be NULL). A report
 * without facts about the GPU has none. */
int gpu_peaks_read(struct gpu_peaks *peaks, struct report *report, const char *list, struct error *err);

/* "fp64", "tf32", "bf16", "memory" */
const char *gpu_rate_name(enum gpu_rate rate);

#endif
