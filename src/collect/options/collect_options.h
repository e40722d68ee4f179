/* What a capture is asked for: the command line as the collector gets it. Part of collect.h. */
#ifndef TACHO_COLLECT_OPTIONS_COLLECT_OPTIONS_H
#define TACHO_COLLECT_OPTIONS_COLLECT_OPTIONS_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "cpu_options.h"
#include "wire/wire.h"

/* What switches the recording on: --capture-range. */
enum collect_range {
    COLLECT_RANGE_NONE = WIRE_CAPTURE_ALWAYS, /* the start of the program, or the delay */
    COLLECT_RANGE_NVTX = WIRE_CAPTURE_NVTX,   /* a push or start of range_text in range_domain */
    COLLECT_RANGE_API = WIRE_CAPTURE_API,     /* tacho_start() or cudaProfilerStart() */
};

/* What the end of a range does: --capture-range-end. */
enum collect_range_end {
    COLLECT_END_NONE,          /* nothing: recording goes on */
    COLLECT_END_STOP,          /* recording stops for good, the program runs on */
    COLLECT_END_STOP_SHUTDOWN, /* …and the capture is over: the kill signal, if any, and the report */
    COLLECT_END_REPEAT,        /* off until the next range, at most range_repeat times (0: any number); then as STOP */
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

#endif
