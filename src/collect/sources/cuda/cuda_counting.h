/* Counters of kernels: what is prepared before the program runs, and what is made of the images that CUPTI wrote. */
#ifndef TACHO_COLLECT_SOURCES_CUDA_CUDA_COUNTING_H
#define TACHO_COLLECT_SOURCES_CUDA_CUDA_COUNTING_H

#include <stdint.h>

struct collector;
struct cuda_counting;

struct counting_image {
    uint32_t pid, number; /* pid: in the namespace of the process */
    uint32_t launches, ranges, dropped;
    int result;           /* CUPTI's */
};

struct counting_kernel {
    uint32_t pid, image, range;
};

/* Asks tacho-gpu for a configuration and writes it for the agents. NULL: not possible; the user is warned. */
struct cuda_counting *cuda_counting_begin(struct collector *collector);

/* Of enum wire_cuda_flag. NULL: none. */
uint32_t cuda_counting_flags(const struct cuda_counting *counting);

void cuda_counting_image(struct cuda_counting *counting, const struct counting_image *image);

/* The number of a kernel in TACHO_KERNEL_COUNTERS; -1: memory is short. */
int64_t cuda_counting_kernel(struct cuda_counting *counting, const struct counting_kernel *kernel);

/* Keeps a kernel's row until its duration is known; `end` is when it ended. 0, or -1 if memory is short. */
struct row_CUPTI_ACTIVITY_KIND_KERNEL;
int cuda_counting_untimed(struct cuda_counting *counting, const struct counting_kernel *kernel,
                          const struct row_CUPTI_ACTIVITY_KIND_KERNEL *row);

void cuda_counting_uncounted(struct cuda_counting *counting, const uint64_t *causes);

/* Evaluates all images: writes the values, and warns about what is missing. */
void cuda_counting_finish(struct cuda_counting *counting);
void cuda_counting_free(struct cuda_counting *counting);

#endif
