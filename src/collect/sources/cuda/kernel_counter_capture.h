/* Counters of kernels in a capture: what is prepared before the program runs (kernel_counter_setup.c), and what is made
 * of the images that CUPTI wrote (kernel_counter_values.c). kernel_counter_rows.c has the rows of a process. */
#ifndef TACHO_COLLECT_SOURCES_CUDA_KERNEL_COUNTER_CAPTURE_H
#define TACHO_COLLECT_SOURCES_CUDA_KERNEL_COUNTER_CAPTURE_H

#include <stdint.h>

#include "base/text.h"
#include "collect/core/collector.h"
#include "wire/wire_cuda.h"
#include "wire/wire_gpu.h"

struct counted_metric {
    char *counter; /* owned; the name, as CUPTI spells it */
    double factor;
    struct row_TACHO_METRICS row;
};

struct counted_image {
    uint32_t number;
    uint32_t launches, ranges, dropped;
    int result; /* CUPTI's */
};

/* Where a kernel's values are: numbers of images are unique in a capture. */
struct counted_place {
    uint32_t image, range;
};

struct counted_kernel {
    struct counted_place place;
    int64_t id;
    int64_t duration_ns;
    int has_values;
};

struct untimed_kernel {
    struct counted_place place;
    struct row_CUPTI_ACTIVITY_KIND_KERNEL row;
};

struct counter_capture {
    struct collector *collector;
    struct counted_metric *metrics;
    size_t metric_count, metric_room;
    struct text counters; /* their names, with commas */
    struct text refusal;
    struct gpu_config config;
    struct counted_image *images;
    size_t image_count, image_room;
    struct counted_kernel *kernels;
    size_t kernel_count, kernel_room;
    struct untimed_kernel *untimed;
    size_t untimed_count, untimed_room;
    size_t duration; /* index of the metric that is a kernel's duration; SIZE_MAX: there is none */
    uint64_t uncounted[WIRE_UNCOUNTED_CAUSES];
};

#define COUNTER_CAPTURE_PATIENCE_NS INT64_C(60000000000) /* for tacho-gpu */

/* ---- kernel_counter_setup.c ------------------------------------------------------------------------------------ */

/* Asks tacho-gpu for a configuration and writes it for the agents. NULL: not possible; the user is warned. */
struct counter_capture *counter_capture_begin(struct collector *collector);
void counter_capture_free(struct counter_capture *counters);

/* Returns bits of enum wire_cuda_flag; 0 for NULL. */
uint32_t counter_capture_flags(const struct counter_capture *counters);

/* Joins the refusals of tacho-gpu. */
void counter_capture_refused(struct counter_capture *counters, const struct gpu_frame *frame, const void *payload);

/* ---- kernel_counter_values.c ----------------------------------------------------------------------------------- */

void counter_capture_add_image(struct counter_capture *counters, const struct counted_image *image);

/* The number of a kernel in TACHO_KERNEL_COUNTERS; -1: memory is short. */
int64_t counter_capture_add_kernel(struct counter_capture *counters, const struct counted_place *place);

/* Keeps a kernel's row until its duration is known; `end` is when it ended. 0, or -1 if memory is short. */
int counter_capture_add_untimed(struct counter_capture *counters, const struct counted_place *place,
                                const struct row_CUPTI_ACTIVITY_KIND_KERNEL *row);

void counter_capture_add_uncounted(struct counter_capture *counters, const uint64_t *causes);

/* Evaluates all images: writes the values, and warns about what is missing. */
void counter_capture_finish(struct counter_capture *counters);

#endif
