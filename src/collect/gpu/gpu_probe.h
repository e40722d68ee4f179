/* Asks tacho-gpu once: for `tacho doctor`, and for lists of GPUs. */
#ifndef TACHO_COLLECT_GPU_GPU_PROBE_H
#define TACHO_COLLECT_GPU_GPU_PROBE_H

#include "base/text.h"
#include "gpu_metric_table.h"

enum { GPU_PROBE_DEVICES = 64 };

struct gpu_probe {
    size_t count;
    struct gpu_device devices[GPU_PROBE_DEVICES];
    int has_values[GPU_PROBE_DEVICES]; /* a reading of it had a value */
    struct text refusals;              /* a line each */
};

/* Reads metrics twice, which GPM needs, for a few seconds at most. What cannot be read is a refusal. */
void gpu_probe_ask(struct gpu_probe *probe, uint64_t metrics);
void gpu_probe_free(struct gpu_probe *probe);

#endif
