/* The setup of CUDA's part of a process, and its counts. */
#ifndef TACHO_COLLECT_SOURCES_CUDA_CUDA_SETUP_H
#define TACHO_COLLECT_SOURCES_CUDA_CUDA_SETUP_H

#include <stdint.h>

#include "report/writer/writer.h"
#include "wire/wire.h"

struct clock_map;
struct counter_capture;
struct process;

#define CUDA_GPUS_MAX 64

/* The GPUs of the capture by their number in TARGET_INFO_GPU; one struct per capture, zeroed at first. */
struct cuda_gpus {
    struct cuda_gpu {
        unsigned char uuid[16];
        uint64_t pci;                 /* domain << 32 | bus << 16 | device << 8 | function */
        int is_of_cuda;               /* a process reported it, and it has its row */
    } list[CUDA_GPUS_MAX];
    uint32_t count, of_cuda;
    uint32_t cuda_version;            /* the version that the driver supports: 13000 is 13.0; 0: unknown */
    struct counter_capture *counters; /* NULL: no kernels are counted */
};

/* The number of a GPU; one that is not known yet gets the next. The parts of a divided GPU (MIG) are GPUs of their own
 * in CUDA, with other UUIDs than NVML has for the whole: then the PCI address decides. CUDA_GPUS_MAX: there are too
 * many. */
uint32_t cuda_gpus_find(struct cuda_gpus *gpus, const void *uuid, uint64_t pci, int is_of_cuda);

/* Everything except the arena's memory is the collector's own copy. */
struct cuda_setup {
    struct writer *writer;
    const struct clock_map *clock;
    struct cuda_gpus *gpus;
    struct wire_header *arena;
    uint32_t chunk_count, buffer_count;
    uint64_t ns_per_tick;
    uint32_t flags;                /* enum wire_cuda_flag */
    int64_t global_pid;
    uint32_t pid, own_pid;         /* own_pid: its pid in its own pid namespace */
    const struct process *process; /* for the modules of addresses; NULL: unknown */
};

struct cuda_counts {
    uint64_t recorded;     /* complete records: CUPTI's in delivered buffers, and the agent's */
    uint64_t recovered;    /* the same, from buffers that were never delivered */
    uint64_t damaged;      /* records that the program overwrote */
    uint64_t unfinished;   /* in buffers that were never delivered: records without their end */
    uint64_t unknown_kind; /* at least this many: the start of the record after one of these is unknown */
    uint64_t pc_full;      /* times that a GPU's buffer of samples was full */
    uint64_t kernels, launches, launches_without_kernel, kernels_without_launch, kernels_before_launch;
};

#endif
