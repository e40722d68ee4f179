/* The result of a capture: counts, exit status and warnings, for the caller of collect_run(). Part of collect.h. */
#ifndef TACHO_COLLECT_OPTIONS_COLLECT_RESULT_H
#define TACHO_COLLECT_OPTIONS_COLLECT_RESULT_H

#include <stddef.h>
#include <stdint.h>

#include "samples_options.h"
#include "wire/wire.h"

enum collect_ending {
    COLLECT_NOT_STARTED, /* start_errno has the reason; exit_status is 127 or 126, as in a shell */
    COLLECT_EXITED,      /* exit_status */
    COLLECT_SIGNALLED,   /* signal */
    COLLECT_RUNNING,     /* the program outlives the capture */
};

/* Why the capture ended. */
enum collect_over {
    COLLECT_OVER_PROGRAM, /* the program ended, or a signal came: see interrupted */
    COLLECT_OVER_DURATION,
    COLLECT_OVER_RANGE,   /* the last capture range ended */
};

#define COLLECT_WARNINGS_MAX 32
#define COLLECT_LEFT_MAX 4

struct collect_left { /* a process that outlives the capture */
    int pid;
    char name[64];
};

struct collect_counts {
    uint64_t recorded;
    uint64_t stacks, stack_bytes;    /* copies of stacks that agents made for backtraces of calls */
    uint64_t fates[WIRE_FATE_COUNT]; /* enum wire_fate */
    uint64_t lost_damaged;           /* records that the program overwrote, and CUPTI records that make no row */
};

/* Totals over all processes. TACHO_CUPTI has the versions of CUPTI, TACHO_CUDA_CHECK the same checks per process. */
struct collect_cuda_result {
    uint64_t processes; /* processes in which CUPTI was used */
    uint64_t refused;   /* processes in which CUPTI could not be used */
    char refusal[256];  /* the reason, in the first of them */

    uint64_t kernels;
    uint64_t launches_without_kernel;
    uint64_t kernels_without_launch;
    uint64_t kernels_before_launch; /* kernels that start before the call that launched them */
    uint64_t recovered;             /* records from buffers that CUPTI never delivered; `recorded` includes them */
};

struct collect_torch_result {
    uint64_t processes; /* processes whose PyTorch operators were observed */
    char version[64];   /* of PyTorch, in the first of them */
    uint64_t refused;   /* processes whose operators could not be observed */
    char refusal[256];  /* the reason, in the first of them */
};

/* Totals over all processes; also in TACHO_COUNT. */
struct collect_python_result {
    uint64_t processes; /* processes whose Python stacks were read */
    /* Processes whose Python stacks could not be read; a warning has the reason in the first of them. */
    uint64_t refused;
    uint64_t samples;
    uint64_t cut;   /* samples whose outermost frames are missing; `samples` includes them */
    uint64_t torn;  /* stacks that changed while they were read: dropped */
    uint64_t late;  /* samples that the sampler had no time for: dropped */
    int64_t cpu_ns; /* CPU time of the sampler, outside the program */
};

/* Filled as far as the capture got, also when collect_run() fails. Free it with collect_result_free(). */
struct collect_result {
    enum collect_ending ending;
    int exit_status; /* the exit status for tacho: the program's own, 128 + signal, 127 or 126 */
    int signal;
    int core_dumped;
    int start_errno;
    int interrupted;        /* the signal that ended the capture early (Ctrl-C), or 0 */
    enum collect_over over;
    int kill_sent;          /* the signal of --kill that the running program got, or 0 */
    size_t left_count;      /* processes of the tree that keep running; the first of them are in left[] */
    struct collect_left left[COLLECT_LEFT_MAX];

    int64_t wall_ns;        /* from the start of the program to its end (or to the end of the capture) */
    int64_t cpu_ns;         /* user and system time of all processes of the tree for which it is known */
    int64_t captured_ns;    /* how long recording was on */
    int64_t finish_ns;      /* from the end of the program to the finished report */
    uint64_t process_count; /* programs: each exec adds one */
    uint64_t thread_count;
    uint64_t unrecorded;    /* processes that could not attach */

    struct collect_counts counts[WIRE_SOURCE_COUNT];
    /* Rows of all sources that were dropped because the disk was full. The sources' `recorded` excludes them. */
    uint64_t lost_disk;
    struct collect_cuda_result cuda;
    struct collect_python_result python;
    struct collect_torch_result torch;
    struct collect_samples_result cpu;
    /* Estimate: time that all threads together spent on recording, including the start of the agents. */
    int64_t cost_ns;
    int64_t children_ns;   /* CPU time of our own child processes */
    int64_t start_cost_ns; /* the part of cost_ns for the start of programs and processes */
    int64_t source_cost_ns[WIRE_SOURCE_COUNT];

    uint64_t report_bytes;
    int report_error;                     /* an ERR_ code if the report is not complete (disk full), or 0 */

    size_t warning_count;
    char *warnings[COLLECT_WARNINGS_MAX]; /* a sentence each; also in DIAGNOSTIC_EVENT */
};

#endif
