/* A capture, from the launch of a program to the finished report: the whole interface of src/collect.
 *
 * collect_run() starts the program, follows its process tree, turns what the agents record into rows of a report,
 * and returns when the capture is over. It prints nothing (tell() may) and never ends the calling process; it does
 * take over signal handling (INT, TERM, HUP, QUIT, CHLD, PIPE) for as long as it runs, and puts it back. One
 * capture per process at a time. */
#ifndef TACHO_COLLECT_COLLECT_H
#define TACHO_COLLECT_COLLECT_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "collect/core/cpu_options.h"
#include "wire/wire.h"

enum collect_range {                                /* what switches the recording on: --capture-range */
                     COLLECT_RANGE_NONE,            /* the start of the program, or the delay */
                     COLLECT_RANGE_NVTX,            /* a push or start of range_text in range_domain */
                     COLLECT_RANGE_API,             /* tacho_start() or cudaProfilerStart() */
};

enum collect_range_end {                            /* what the end of a range does: --capture-range-end */
                         COLLECT_END_NONE,          /* nothing: recording goes on */
                         COLLECT_END_STOP,          /* recording stops for good, the program runs on */
                         COLLECT_END_STOP_SHUTDOWN, /* …and the capture is over: the kill signal, if any, and the report
                                                     */
                         COLLECT_END_REPEAT,        /* off until the next range, at most range_repeat times (0:
                                                     * any number); then as STOP */
                         COLLECT_END_REPEAT_SHUTDOWN, /* …then as STOP_SHUTDOWN */
};

struct collect_variable {
    const char *name;
    const char *value;
};

/* All texts belong to the caller and must live until collect_run() returns. Zero means the default
 * given, unless said otherwise. */
struct collect_options {
    char *const *argv; /* the program and its arguments, NULL-terminated */
    /* Instead: no program is started; the capture is of the process that started us, which is told, once, the
     * value of TACHO_SESSION with which it must load the agent. It ends when our standard input does, or that
     * process. NULL: argv counts. */
    void (*announce)(void *context, const char *session, const char *agent_path);
    void *announce_context;
    const char *command_line; /* the whole tacho command line, for the report; NULL: not stored */

    const char *output_path;  /* the report, as it is to be called */
    /* Instead, for names with the program's process id in them: asked once that process exists, before it runs
     * anything. 0, or an ERR_ code and err, and no program is started. *path must live until collect_run() returns. */
    int (*name_output)(void *context, int pid, const char **path, struct error *err);
    void *name_context;
    int redact;                             /* 1: of command lines only the program's name is stored, no environment
                                             * variables, no working directory */
    int overwrite;                          /* 0: an existing file is ERR_EXISTS, before the program starts */
    int writer_workers, writer_level;       /* as in struct writer_options */

    uint32_t sources;                       /* WIRE_BIT()s */
    const char *agent_path;                 /* the agent's library; NULL: collect_agent_path() */
    int no_preload;                         /* 1: only NVTX injection reaches the program */
    int trace_fork_before_exec;             /* 1: forked children that have not called exec are traced */
    uint64_t buffer_limit_bytes;            /* of shared memory for one process; 0: 256 MiB,
                                             * less in a small container */

    const char *const *nvtx_domain_include; /* NULL-terminated; NULL or empty: all. "default" is the default domain */
    const char *const *nvtx_domain_exclude;
    uint64_t osrt_threshold_ns;             /* shorter calls are counted only; taken as given, 0 records all */
    uint64_t osrt_backtrace_ns;             /* calls that take so long have their call chain stored… */
    uint32_t osrt_backtrace_bytes;          /* …from so much of their stack; 0: none has */
    uint32_t osrt_backtrace_depth;          /* frames at most; 0: all */
    const char *const *debug_paths;         /* folders with debug information, ended by NULL; NULL: the usual ones */
    int no_names;                           /* addresses in call chains stay addresses */

    uint32_t cuda_flags;                    /* enum wire_cuda_flag */
    uint32_t cuda_flush_interval_ms;        /* 0: as the agent thinks best */
    uint32_t cuda_backtrace_groups;         /* groups of cuda_calls.def, as bits, whose calls
                                             * have their call chain stored… */
    uint64_t cuda_backtrace_ns;             /* …if they take so long */
    struct collect_cpu_options cpu;         /* samples and context switches */
    struct collect_counter_options counters;
    uint32_t libraries;                     /* rows of libraries.def, as bits; the upper half: verbose */

    uint32_t torch_flags;                   /* enum wire_torch_flag */
    int torch_nvtx;                         /* 1: operators are NVTX ranges too, worded as
                                             * torch.autograd.profiler.emit_nvtx does */
    int torch_functions;                    /* 1: functions-trace: calls of torch's Python functions are NVTX ranges */
    int torch_replace;                      /* 1: Python programs find our classes in the place of torch.profiler's */
    const char *python_functions;           /* a file that names Python functions whose calls are NVTX
                                             * ranges; absolute; NULL: none */

    int python_backtrace;                   /* 1: stacks of calls have their Python frames beside them */
    unsigned python_frequency;              /* Python stacks are sampled so often a second; 0: they are not */

    int64_t delay_ns;                       /* recording begins so long after the program */
    int64_t duration_ns;                    /* the capture ends so long after recording began; 0: with the program */
    int run_on_exit;                        /* 1: -x false: the end of the program does not end the
                                             * capture, the duration does */
    enum collect_range range;
    enum collect_range_end range_end;
    unsigned range_repeat;
    const char *range_text;                     /* the NVTX message; NULL: any */
    const char *range_domain;                   /* NULL: the default domain; "*": any */

    int kill_signal;                            /* what a program that outlives the capture gets; 0: it runs on */
    int wait_primary;                           /* 1: the capture ends with the first process; 0:
                                                 * with the last of the tree */

    const struct collect_variable *environment; /* -e, in order; environment_count of them */
    size_t environment_count;
    int clean_environment;                      /* 1: -n false: the program gets only `environment` and what we add */
    int hide_output;                            /* 1: -w false: stdout and stderr go into the report, not to ours */

    /* A sentence for whoever looks on and wonders what is being waited for; NULL: nothing is said. */
    void (*tell)(void *context, const char *sentence);
    void *tell_context;
};

enum collect_ending {
    COLLECT_NOT_STARTED,                  /* start_errno says why; exit_status is 127 or 126, as a shell has it */
    COLLECT_EXITED,                       /* exit_status */
    COLLECT_SIGNALLED,                    /* signal */
    COLLECT_RUNNING,                      /* the program outlives the capture */
};

enum collect_over {                       /* what ended the capture */
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

/* 0 when the program was started and a report was written, whatever became of the program. ERR_NOT_FOUND or ERR_DENIED
 * when it could not be started (ending is COLLECT_NOT_STARTED; no report is left behind), other codes when the report
 * could not be made: then the program was not started. */
int collect_run(const struct collect_options *options, struct collect_result *result, struct error *err);
void collect_result_free(struct collect_result *result);

/* ../lib/tacho/libtacho-agent.so beside the running program, or the variable TACHO_AGENT; in a static buffer. NULL and
 * err when there is none. */
const char *collect_agent_path(struct error *err);

/* What --kill accepts: none, sigkill, sigterm, a signal's name or number; -1 if it is none of them. */
int collect_signal_number(const char *text);

/* The other way: "SIGTERM"; or "signal 35", in a static buffer. */
const char *collect_signal_name(int number);

#endif
