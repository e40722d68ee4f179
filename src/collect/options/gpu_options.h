/* GPU metrics: their options. Part of collect_options.h. */
#ifndef TACHO_COLLECT_OPTIONS_GPU_OPTIONS_H
#define TACHO_COLLECT_OPTIONS_GPU_OPTIONS_H

#include <stdint.h>

enum collect_gpu_devices {
    COLLECT_GPU_NONE,
    COLLECT_GPU_VISIBLE, /* those that CUDA shows to a process of the tree; read from that moment */
    COLLECT_GPU_ALL,
    COLLECT_GPU_LIST,
};

struct collect_gpu_options {
    enum collect_gpu_devices devices;
    const char *list;      /* numbers of nvidia-smi, UUIDs or bus ids, with commas between them */
    int is_asked;          /* 0: recorded by default; only failures are reported */
    uint64_t metrics;      /* bits by row of gpu_metric_table.def */
    uint32_t frequency_hz; /* of these: samples per second */
    uint32_t counters_hz;  /* samples of hardware counters per second; 0: none */
    const char *counters;  /* those to sample: sets and metrics, with commas between them */
};

#endif
