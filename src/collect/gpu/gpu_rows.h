/* Rows of a report from the frames of tacho-gpu: GPU_METRICS with the names of its metrics, and TACHO_GPU_SAMPLING.
 *
 * Samples count only while recording is on. A mean or a change whose interval began before is dropped. */
#ifndef TACHO_COLLECT_GPU_GPU_ROWS_H
#define TACHO_COLLECT_GPU_GPU_ROWS_H

#include "gpu_metric_table.h"
#include "report/writer/writer.h"

enum { GPU_ROWS_DEVICES = 64, GPU_ROWS_REFUSALS = 64 };

/* A time in which recording was on, in the report's time. */
struct gpu_span {
    int64_t start_ns, end_ns;
};

struct gpu_rows_setup {
    struct writer *writer;
    int64_t vm_id;        /* the machine's part of global ids */
    int64_t origin_ns;    /* CLOCK_MONOTONIC at the report's time 0 */
    uint64_t metrics;     /* bits by row of gpu_metric_table.def */
    uint32_t frequency_hz;
    uint32_t counters_hz; /* 0: counters are not sampled */
    /* The number of a GPU in the table TARGET_INFO_GPU. */
    uint32_t (*find_gpu)(void *context, const struct gpu_device *facts);
    void *context;
};

struct gpu_rows *gpu_rows_new(const struct gpu_rows_setup *setup);
void gpu_rows_free(struct gpu_rows *rows);

/* Takes a frame. span: the one that its time lies in; NULL: recording was off. Of a frame with samples of counters, it
 * takes those that lie in the span as a whole: call it for each span. A frame that is damaged is left out: returns
 * -1. */
int gpu_rows_take(struct gpu_rows *rows, const struct gpu_frame *frame, const void *payload,
                  const struct gpu_span *span);

/* The time of a frame with readings or samples, the last of them, in the report's time; INT64_MIN: it has none. */
int64_t gpu_rows_time(const struct gpu_rows *rows, const struct gpu_frame *frame, const void *payload);

/* Notes why something is missing: a sentence. device: GPU_ALL, or NVML's number. */
void gpu_rows_refuse(struct gpu_rows *rows, enum gpu_origin origin, uint32_t device, const char *text);
/* Refusal number i: its sentence; NULL: there are fewer. *is_loss: a GPU that had been read. */
const char *gpu_rows_refusal(const struct gpu_rows *rows, size_t i, enum gpu_origin *origin, int *is_loss);

/* Counts samples that were dropped before they were taken here. */
void gpu_rows_lose(struct gpu_rows *rows, uint64_t samples);

/* The GPUs that were reported, and the samples that were recorded. */
const struct gpu_device *gpu_rows_device(const struct gpu_rows *rows, size_t i, uint32_t *gpu);
uint64_t gpu_rows_samples(const struct gpu_rows *rows);

/* Writes TACHO_GPU_SAMPLING. now_ns: in the report's time. */
void gpu_rows_finish(struct gpu_rows *rows, int64_t now_ns);

#endif
