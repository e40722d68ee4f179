/* What came of a capture: counts, endings and warnings for whoever asked for it. Part of collect.h. */
#ifndef TACHO_COLLECT_OPTIONS_COLLECT_RESULT_H
#define TACHO_COLLECT_OPTIONS_COLLECT_RESULT_H

#include <stddef.h>
#include <stdint.h>

#include "cpu_options.h"
#include "wire/wire.h"

enum collect_ending {
    COLLECT_NOT_STARTED, /* start_errno says why; exit_status is 127 or 126, as a shell has it */
    COLLECT_EXITED,      /* exit_status */
    COLLECT_SIGNALLED,   /* signal */
    COLLECT_RUNNING,     /* the program outlives the capture */
};

/* What ended the capture. */
enum collect_over {
    COLLECT_OVER_PROGRAM, /* the end of the program, or a signal: see interrupted */
    COLLECT_OVER_DURATION,
    COLLECT_OVER_RANGE,   /* the end of the last capture range */
};

#define COLLECT_WARNINGS_MAX 32
#define COLLECT_LEFT_MAX 4

struct collect_left { /* a process that outlives the capture */
    int pid;
    char name[64];
};

struct collect_counts {
    uint64_t recorded;
    uint64_t fates[WIRE_FATE_COUNT]; /* enum wire_fate */
    uint64_t lost_damaged;           /* records that the program's side had scribbled over,
                                      * or CUPTI's that make no row */
};

/* Of all processes together. Which CUPTI, and how well its records fit together: also in
 * TACHO_CUPTI and TACHO_CUDA_CHECK. */
struct collect_cuda_result {
    uint64_t processes; /* in which CUPTI was used */
    uint64_t refused;   /* processes in which it could not be used */
    char refusal[256];  /* why not, in the first of them */

    uint64_t kernels;
    uint64_t launches_without_kernel;
    uint64_t kernels_without_launch;
    uint64_t kernels_before_launch; /* began before the call that launched them */
    uint64_t recovered;             /* records from buffers that were never delivered; they count as recorded too */
};

struct collect_torch_result {
    uint64_t processes; /* in which PyTorch's operators were observed */
    char version[64];   /* of PyTorch, in the first of them */
    uint64_t refused;   /* processes in which they could not be */
    char refusal[256];  /* why not, in the first of them */
};

/* Of all processes together; also in TACHO_COUNT. */
struct collect_python_result {
    uint64_t processes; /* whose Python was read */
    uint64_t refused;   /* processes whose Python could not be; a warning says why, for the first of them */
    uint64_t samples;
    uint64_t cut;       /* of them, those whose outermost frames are missing */
    uint64_t torn;      /* stacks that changed while they were read, and were given up */
    uint64_t late;      /* samples that the sampler had no time for */
    int64_t cpu_ns;     /* what sampling took, beside the program */
};

/* Filled as far as things went, also when collect_run() fails. Freed by collect_result_free(). */
struct collect_result {
    enum collect_ending ending;
    int exit_status; /* what tacho should exit with: the program's own, 128 + signal, 127, 126 */
    int signal;
    int core_dumped;
    int start_errno;
    int interrupted;        /* the signal that ended the capture early (Ctrl-C), or 0 */
    enum collect_over over;
    int kill_sent;          /* the signal of --kill that the program got while it still ran, or 0 */
    size_t left_count;      /* processes of the tree that run on; the first of them have names */
    struct collect_left left[COLLECT_LEFT_MAX];

    int64_t wall_ns;        /* start of the program to its end (or the end of the capture) */
    int64_t cpu_ns;         /* user and system, of all processes of the tree whose time is known */
    int64_t captured_ns;    /* for how long recording was on */
    int64_t finish_ns;      /* end of the program to the finished report */
    uint64_t process_count; /* programs: an exec counts one more */
    uint64_t thread_count;
    uint64_t unrecorded;    /* processes that could not attach */

    struct collect_counts counts[WIRE_SOURCE_COUNT];
    uint64_t lost_disk;     /* rows that the disk had no room for, of all sources; not among those that they recorded */
    struct collect_cuda_result cuda;
    struct collect_python_result python;
    struct collect_torch_result torch;
    struct collect_cpu_result cpu;
    int64_t cost_ns;                      /* estimate: time that all threads together spent
                                           * recording, starting included */
    int64_t start_cost_ns;                /* of it, what the start of the programs and processes took longer */

    uint64_t report_bytes;
    int report_error;                     /* an ERR_ code if the report is not complete (disk full), or 0 */

    size_t warning_count;
    char *warnings[COLLECT_WARNINGS_MAX]; /* one sentence each; also in DIAGNOSTIC_EVENT */
};

#endif
