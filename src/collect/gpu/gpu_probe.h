/* Asks tacho-gpu once: for `tacho doctor`, and for lists of GPUs. */
#ifndef TACHO_COLLECT_GPU_GPU_PROBE_H
#define TACHO_COLLECT_GPU_GPU_PROBE_H

#include "abi/gpu_refusals.h"
#include "base/text.h"
#include "wire/wire_gpu.h"

enum { GPU_PROBE_DEVICES = 64 };

/* What became of the trials of a source. */
struct gpu_probe_source {
    size_t works;        /* GPUs */
    enum gpu_refusal_id why;
    struct text refusal; /* the first sentence; empty: there was none */
    size_t refusals;
};

struct gpu_probe {
    size_t count;
    struct gpu_device devices[GPU_PROBE_DEVICES];
    struct text refusals; /* a line each */
    struct gpu_probe_source sources[GPU_TRIALS];
};

/* Whether the host has a driver to ask: NVIDIA's, that of WSL, or the one that TACHO_NVML names. */
int gpu_probe_has_driver(void);

/* Lists the GPUs, for a few seconds at most. What cannot be read is a refusal. */
void gpu_probe_ask(struct gpu_probe *probe);
/* The same, and tries each source on each of them: less than a second where nothing hangs. */
void gpu_probe_try(struct gpu_probe *probe);
void gpu_probe_free(struct gpu_probe *probe);

#endif
