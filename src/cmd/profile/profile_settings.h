/* What `tacho profile` is told: the values of its options. */
#ifndef TACHO_CMD_PROFILE_PROFILE_SETTINGS_H
#define TACHO_CMD_PROFILE_PROFILE_SETTINGS_H

#include "cmd/option.h"
#include "collect/collect.h"

enum { PROFILE_EXPORTS_MAX = 64 };

/* What is asked for of CUDA. */
struct profile_cuda {
    int memory_usage, cpu_faults, gpu_faults, all_calls, flush_on_stop, yield, graph_nodes, events;
    uint32_t flush_interval_ms;
    int backtrace_given;
    uint32_t backtrace_groups;
    int backtrace_unset;        /* some group has no threshold of its own: backtrace_ns counts for it */
    uint64_t backtrace_ns;      /* --cudabacktrace-threshold */
    uint64_t least_ns, most_ns; /* thresholds that groups have of their own; none: least_ns is above most_ns */
};

/* What is asked for of PyTorch. */
enum profile_pytorch_mode { PROFILE_PYTORCH_UNSET, PROFILE_PYTORCH_OFF, PROFILE_PYTORCH_ON };
struct profile_pytorch {
    enum profile_pytorch_mode mode;
    int mode_shapes, nvtx, functions, replaces; /* of --pytorch */
    int shapes, memory, stacks, modules;        /* options of their own */
};

/* What is asked for of counters. */
struct profile_counters {
    int scope_given;
    enum collect_scope scope;
    uint32_t os, core, metrics; /* bits by place in the option's list; of metrics, those of the
                                 * counters that they are made of */
    int help_os, help_core, help_metrics;
    uint32_t interval_ms;
};

/* What is asked for of Python. */
struct profile_python {
    int sampling, gil;  /* --python-sampling; python-gil in -t */
    int backtrace;      /* --python-backtrace=cuda */
    unsigned frequency; /* 0: it was not said */
};

/* Filled by the options; profile_options_init() first. */
struct profile_settings {
    const struct option *options; /* the table that they are filled by; --command-file reads more with it */
    struct collect_options collect;
    const char *output;
    int overwrite, redact, show_output, inherit_environment, stop_on_exit, trace_fork, preload, resolve_symbols;
    int stats, quiet;
    const char *attach;         /* "caller", "caller-temporary", or NULL: there is a program */
    struct option_list exports; /* names of exporters, each once */
    struct text unsupported;    /* names of -t that this version cannot honour, with commas between */
    uint32_t sources_given;     /* -t was there: the bits; else the default counts */
    uint32_t libraries_given;   /* the same, as collect_options.libraries */
    int has_sources;
    struct profile_cuda cuda;
    struct profile_python python;
    struct profile_counters counters;
    struct profile_pytorch pytorch;
    struct collect_variable environment[256];
    void *owned[512];     /* what take() functions allocated */
    size_t owned_count;
    struct text warnings; /* a line each */
};

void profile_settings_free(struct profile_settings *settings);
/* Keeps an allocation until then; NULL when memory or room is short. */
void *profile_own(struct profile_settings *settings, void *memory);

#endif
