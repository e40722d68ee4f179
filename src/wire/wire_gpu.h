/* Frames that the program tacho-gpu writes to the process that started it, tacho or its collector.
 *
 * bin/tacho is static and loads no libraries, so NVML and CUPTI live in that second program. Both come from the same
 * build; the first frame says so. A frame is a head and `bytes` bytes, a multiple of 8. The reader checks both before
 * it uses them: a program that loads other people's libraries may write anything. */
#ifndef TACHO_WIRE_WIRE_GPU_H
#define TACHO_WIRE_WIRE_GPU_H

#include <stdint.h>

#define GPU_HELLO_MAGIC 0x33757067686361ull /* "achgpu3": change it with any struct below */

enum gpu_reading {
#define GPU_READING(id, name, unit) GPU_READING_##id,
#define GPM_READING(id, number, name, unit) GPU_READING_##id,
#include "gpu_readings.def"
    GPU_READINGS
};

enum gpu_frame_type {
    GPU_FRAME_HELLO = 1, /* uint64_t GPU_HELLO_MAGIC */
    GPU_FRAME_DEVICE,    /* struct gpu_device: each GPU, before its first reading */
    GPU_FRAME_VALUES,    /* struct gpu_values: readings of one GPU */
    GPU_FRAME_PROCESS,   /* struct gpu_process: a process on a GPU */
    GPU_FRAME_ROUND,     /* struct gpu_round: all GPUs have been read */
    GPU_FRAME_SAMPLES,   /* struct gpu_samples: counters of one GPU over time */
    GPU_FRAME_SAMPLING,  /* struct gpu_sampling: how sampling of a GPU goes; the first is followed by its metrics */
    GPU_FRAME_REFUSAL,   /* struct gpu_refusal: a source that is not available, and why */
    GPU_FRAME_DRIVER,    /* struct gpu_driver */
    GPU_FRAME_PLACE,     /* struct gpu_place: where a GPU sits */
    GPU_FRAME_PAIR,      /* struct gpu_pair: how one GPU reaches another */
    GPU_FRAME_CHIP,      /* struct gpu_chip: a chip whose counters are known */
    GPU_FRAME_METRIC,    /* struct gpu_frame_metric: a metric of a chip, or one that will be counted */
    GPU_FRAME_MISSING,   /* struct gpu_missing: a metric that cannot be counted, and why */
    GPU_FRAME_CONFIG,    /* struct gpu_config: how all metrics are counted; the last frame of its mode */
    GPU_FRAME_RESULTS,   /* struct gpu_results: the metrics of one range of a counter data image */
    GPU_FRAME_INSTANCE,  /* struct gpu_instance: a MIG instance, before its GPU's processes */
    GPU_FRAME_TRIAL,     /* struct gpu_trial: whether a source works */
};

/* Exit status of the mode "monitor" where no GPU is there, or not the one that was asked for. */
enum { GPU_STATUS_NO_GPU = 6 };

struct gpu_frame {
    uint32_t type, bytes; /* bytes: of what follows */
};

enum { GPU_FRAME_MOST_BYTES = 1 << 20 };
#define GPU_ALL UINT32_MAX /* in place of a device's number: all of them */

/* Options that are too long for a command line are in this descriptor, each with its NUL, if the option `long` is
 * given.
 */
enum { GPU_OPTIONS_FD = 3 };
#define GPU_OPTION_LONG "long"
#define GPU_VISIBLE_ALL "*" /* the option visible=, where CUDA_VISIBLE_DEVICES is not set */

struct gpu_device {
    uint32_t device;     /* NVML's number, which is the order of the PCI bus */
    uint32_t minor;      /* /dev/nvidia<minor> */
    uint32_t capability; /* 90: compute capability 9.0 */
    uint32_t has_gpm;
    uint64_t memory_bytes;
    char name[96], uuid[96], bus_id[32];
};

/* A value that could not be read is a NaN; `result` is then NVML's answer. */
struct gpu_value {
    uint32_t reading; /* enum gpu_reading */
    uint32_t result;
    double value;
};

struct gpu_values {
    int64_t time_ns; /* CLOCK_MONOTONIC */
    uint32_t device, count;
    struct gpu_value values[];
};

enum gpu_process_type { GPU_PROCESS_COMPUTE = 1, GPU_PROCESS_GRAPHICS = 2, GPU_PROCESS_MPS = 4 };

/* Utilisation: %, of the time since the round before; negative: not known. */
struct gpu_process {
    uint32_t device, pid;
    uint32_t types;                          /* bits of enum gpu_process_type */
    uint32_t gpu_instance, compute_instance; /* GPU_ALL: the GPU is not divided */
    int32_t sm, memory, encoder, decoder, jpeg, ofa;
    uint32_t reserved;
    uint64_t memory_bytes, protected_bytes;  /* UINT64_MAX: not known */
};

struct gpu_round {
    int64_t time_ns; /* CLOCK_MONOTONIC */
    uint64_t number; /* from 0 */
};

/* Behind it `count` samples of 16 + 8 * metrics bytes: int64_t begin_ns and end_ns of CLOCK_MONOTONIC, and a double for
 * each metric, in the order of their GPU_FRAME_METRIC. */
struct gpu_samples {
    uint32_t device, metrics, count, reserved;
};

struct gpu_sampling {
    uint32_t device, reserved;
    uint64_t interval_ns; /* that was asked for */
    uint64_t samples;     /* so far */
    uint64_t lost;        /* intervals without a sample */
    uint64_t overflows;   /* times that the GPU's buffer was full */
};

enum gpu_origin { GPU_ORIGIN_NVML, GPU_ORIGIN_GPM, GPU_ORIGIN_COUNTERS };

struct gpu_refusal {
    uint32_t device; /* GPU_ALL: all */
    uint32_t origin; /* enum gpu_origin */
    uint32_t why;    /* enum gpu_refusal_id */
    uint32_t reserved;
    char text[];     /* its sentence, NUL-terminated */
};

/* Readings of NVML and of GPM, counters over time, and counters of kernels. */
enum gpu_trial_source { GPU_TRIAL_NVML, GPU_TRIAL_GPM, GPU_TRIAL_SAMPLING, GPU_TRIAL_RANGES, GPU_TRIALS };

struct gpu_trial {
    uint32_t device; /* GPU_ALL: all */
    uint32_t source; /* enum gpu_trial_source */
    uint32_t why;    /* enum gpu_refusal_id; 0: it works */
    uint32_t reserved;
    char text[];     /* the sentence of a refusal, NUL-terminated */
};

/* A compute instance of MIG. Activity is that of its GPU instance, in %; NaN: not known. */
struct gpu_instance {
    uint32_t device, gpu_instance, compute_instance, reserved;
    uint64_t memory_used_bytes, memory_bytes; /* UINT64_MAX: not known */
    double sm, tensor, dram;
    char name[96], uuid[96];
};

struct gpu_driver {
    char version[64];
};

enum { GPU_PLACE_CPUS = 1024, GPU_PLACE_NODES = 256 };

/* Sets are bits, the lowest first; an empty set is not known. */
struct gpu_place {
    uint32_t device;
    int32_t numa_node; /* of the GPU's own memory; negative: it is not a node */
    uint64_t cpus[GPU_PLACE_CPUS / 64];
    uint64_t memory_nodes[GPU_PLACE_NODES / 64];
};

/* NVML's nvmlGpuP2PCapsIndex_t. */
enum gpu_peer_way { GPU_PEER_READ, GPU_PEER_WRITE, GPU_PEER_NVLINK, GPU_PEER_ATOMICS, GPU_PEER_PCI, GPU_PEER_WAYS };

struct gpu_pair {
    uint32_t from, to;
    uint32_t level;               /* enum nvml_topology_level; GPU_ALL: not known */
    uint32_t nvlinks;             /* that join the two, directly or through switches */
    uint32_t peer[GPU_PEER_WAYS]; /* enum nvml_peer_status */
    uint32_t reserved;
};

struct gpu_chip {
    uint32_t capability; /* 90: compute capability 9.0; 0: not known */
    uint32_t reserved;
    char name[];         /* NUL-terminated */
};

/* Texts behind a struct: each NUL-terminated, one after the other. */
enum {
    GPU_METRIC_NAME,
    GPU_METRIC_COUNTER,
    GPU_METRIC_UNIT,
    GPU_METRIC_HARDWARE,
    GPU_METRIC_LABEL,
    GPU_METRIC_SECTION,
    GPU_METRIC_TEXTS
};
struct gpu_frame_metric {
    uint32_t kind; /* enum counter_kind */
    uint32_t type; /* enum cupti_metric_type */
    double factor; /* the value is that of the counter times this */
    char texts[];  /* GPU_METRIC_NAME and so on; the counter is "" if CUPTI does not count it */
};

enum { GPU_MISSING_NAME, GPU_MISSING_WHY, GPU_MISSING_TEXTS };
struct gpu_missing {
    uint64_t needs_pass; /* 1: it could be counted alone */
    char texts[];
};

struct gpu_config {
    uint64_t passes, bytes; /* bytes: of the config image */
    uint32_t counters;      /* that CUPTI counts */
    uint32_t profiler;      /* enum cupti_profiler_type */
    char chip[32];
};

struct gpu_results {
    uint32_t image, reserved; /* image: its place in the list of files, from 0 */
    uint32_t range, count;    /* values: in the order of the names that were asked for */
    double values[];
};

_Static_assert(sizeof(struct gpu_device) == 24 + 224, "shared layout");
_Static_assert(sizeof(struct gpu_values) == 16 && sizeof(struct gpu_value) == 16, "shared layout");
_Static_assert(sizeof(struct gpu_process) == 64, "shared layout");
_Static_assert(sizeof(struct gpu_instance) == 56 + 192, "shared layout");
_Static_assert(sizeof(struct gpu_place) == 168 && sizeof(struct gpu_pair) == 40, "shared layout");

#endif
