/* The options of a capture: the command line as the collector gets it. Part of collect.h; the collector only
 * reads them. */
#ifndef TACHO_COLLECT_OPTIONS_COLLECT_OPTIONS_H
#define TACHO_COLLECT_OPTIONS_COLLECT_OPTIONS_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "counter_options.h"
#include "gpu_options.h"
#include "samples_options.h"
#include "wire/wire.h"

/* --capture-range: the event that switches recording on. */
enum collect_range {
    COLLECT_RANGE_NONE = WIRE_CAPTURE_ALWAYS, /* the start of the program, or the end of the delay */
    COLLECT_RANGE_NVTX = WIRE_CAPTURE_NVTX,   /* a push or start of range_text in range_domain */
    COLLECT_RANGE_API = WIRE_CAPTURE_API,     /* tacho_start() or cudaProfilerStart() */
    COLLECT_RANGE_MPI = WIRE_CAPTURE_MPI,     /* MPI_Pcontrol(1) */
};

/* --capture-range-end: what the end of a range does. */
enum collect_range_end {
    COLLECT_END_NONE,          /* nothing: recording stays on */
    COLLECT_END_STOP,          /* recording stops for good, the program keeps running */
    COLLECT_END_STOP_SHUTDOWN, /* as STOP; then the capture ends: the kill signal, if any, and the report */
    /* Recording is off until the next range, at most range_repeat times (0: no limit); then as STOP. */
    COLLECT_END_REPEAT,
    COLLECT_END_REPEAT_SHUTDOWN, /* as REPEAT, but at the end as STOP_SHUTDOWN */
};

/* The limits of buffer_limit_bytes. */
enum { COLLECT_BUFFER_MIN_MIB = 4, COLLECT_BUFFER_MAX_MIB = 64 << 10 };

struct collect_variable {
    const char *name;
    const char *value;
};

/* The caller owns all strings; they must live until collect_run() returns. Zero means the default that is given,
 * unless a comment says otherwise. */
struct collect_options {
    char *const *argv; /* the program and its arguments, NULL-terminated */
    /* Instead of argv: the collector starts no program and captures its parent process. It calls announce() once, with
     * the value of TACHO_SESSION that the process must set before it loads the agent. The capture ends when our
     * standard input is closed or written to, or when that process ends. NULL: argv is used. */
    void (*announce)(void *context, const char *session, const char *agent_path);
    void *announce_context;
    const char *command_line; /* the whole tacho command line, for the report; NULL: not stored */

    const char *output_path;  /* the path of the report */
    /* Instead of output_path, for names that contain the program's pid: called once that process exists and before it
     * runs anything. Returns 0, or an ERR_ code and err; then the program does not start. *path must live until
     * collect_run() returns. */
    int (*name_output)(void *context, int pid, const char **path, struct error *err);
    void *name_context;
    /* 1: of command lines the report stores only the program's name; it stores no environment variables and no working
     * directory. */
    int redact;
    const char *left_to;              /* the data that another rank of this host records, for the report; NULL: none */
    int overwrite;                    /* 0: an existing file is ERR_EXISTS, before the program starts */
    int writer_workers, writer_level; /* as in struct writer_options */

    uint32_t sources;                 /* the enabled sources, WIRE_BIT()s */
    uint32_t if_used;                 /* of these: recorded in programs that use them, without a word in all others */
    uint32_t requested;               /* those that the user named: reported even if they recorded nothing */
    const char *agent_path;           /* the agent's library; NULL: collect_agent_path() */
    int no_preload;                   /* 1: no LD_PRELOAD; the injection variables alone load the agent */
    int trace_fork_before_exec;       /* 1: forked children are traced before they call exec */
    /* Limit of the shared memory of one process, COLLECT_BUFFER_MIN_MIB to COLLECT_BUFFER_MAX_MIB; 0: 256 MiB, less in
     * a small container. */
    uint64_t buffer_limit_bytes;

    const char *const *nvtx_domain_include; /* NULL-terminated; NULL or empty: all. "default" is the default domain */
    const char *const *nvtx_domain_exclude;
    uint64_t osrt_threshold_ns;             /* shorter calls are only counted; taken as given: 0 records all */
    uint64_t osrt_backtrace_ns;             /* threshold: calls that take at least this long get a backtrace */
    uint32_t osrt_backtrace_bytes;          /* stack bytes copied for a backtrace; 0: no backtraces */
    uint32_t osrt_backtrace_depth;          /* frames of a backtrace at most; 0: all */
    uint64_t heap_rate_bytes;               /* allocated bytes from one sampled block to the next; 0: all blocks */
    uint64_t heap_most_rate_bytes;          /* the same of threads that have allocated very much */
    uint32_t heap_stack_bytes;              /* stack bytes copied for each block; 0: no backtraces */
    /* Directories with debug information, ended by NULL; NULL: the default ones. */
    const char *const *debug_paths;
    int no_names;                    /* 1: call chains keep raw addresses */

    uint32_t cuda_flags;             /* enum wire_cuda_flag */
    uint32_t cuda_flush_interval_ms; /* 0: the agent's default */
    uint8_t cuda_pc_mode;            /* enum cupti_pc_mode; 0: no PC sampling */
    uint8_t cuda_pc_period;          /* as a power of two, in cycles */
    /* Bits by group of cuda_calls.def: calls of these groups get a backtrace if they take at least
     * cuda_backtrace_ns. */
    uint32_t cuda_backtrace_groups;
    uint64_t cuda_backtrace_ns;
    struct collect_samples_options cpu; /* samples and context switches */
    struct collect_counter_options counters;
    struct collect_gpu_options gpu;
    struct counter_options kernel_counters;
    /* Bits by row of libraries.def; the upper half: verbose. */
    uint32_t libraries;
    uint32_t nccl_level;     /* enum wire_nccl_level: the events of NCCL's profiler plugin interface */
    uint32_t mpi_flavour;    /* enum wire_mpi_flavour; 0: the agent finds out */

    uint32_t openmp_details; /* enum wire_openmp_detail */

    int step_probes;         /* 1: of the source STEPS, a few steps are only timed; 0: most are */
    int step_windows;        /* with step_probes: where recording costs much, few steps have operators */

    double cost_limit;       /* recording may take this part of the program's own CPU time: 0.05; 0: no limit */

    uint32_t torch_flags;    /* enum wire_torch_flag */
    /* 1: operators are NVTX ranges too, with the texts of torch.autograd.profiler.emit_nvtx. */
    int torch_nvtx;
    /* 1: functions-trace: calls of torch's Python functions are NVTX ranges. */
    int torch_functions;
    /* 1: Python programs get our classes in place of torch.profiler's. */
    int torch_replace;
    /* Absolute path of a file that names Python functions whose calls become NVTX ranges; NULL: none. */
    const char *python_functions;
    int python_events;         /* collections of Python, and compilations of torch.compile */

    int python_backtrace;      /* 1: backtraces of calls include their Python frames */
    int python_blocks;         /* 1: those of allocations do */
    unsigned python_frequency; /* Python samples per second; 0: none */
    int python_is_automatic;   /* 1: the user did not ask for them: a program that has none gets no warning */

    int64_t delay_ns;          /* from the start of the program to the start of recording */
    /* From the start of recording to the end of the capture; 0: the capture ends with the program. */
    int64_t duration_ns;
    /* 1: -x false: the capture lasts for the whole duration, even if the program ends earlier. */
    int run_on_exit;
    enum collect_range range;
    enum collect_range_end range_end;
    unsigned range_repeat;
    const char *range_text;   /* the NVTX message; NULL: any */
    const char *range_domain; /* NULL: the default domain; "*": any */

    /* The signal for a program that outlives the capture; 0: none, it keeps running. */
    int kill_signal;
    /* 1: the capture ends with the first process; 0: with the last process of the tree. */
    int wait_primary;

    const struct collect_variable *environment; /* -e, in order */
    size_t environment_count;
    /* 1: -n false: the program gets only `environment` and the variables that the collector adds. */
    int clean_environment;
    int hide_output; /* 1: -w false: stdout and stderr go into the report only */

    /* Prints a status line while the collector waits for processes; NULL: the collector stays silent. */
    void (*tell)(void *context, const char *sentence);
    void *tell_context;
};

#endif
