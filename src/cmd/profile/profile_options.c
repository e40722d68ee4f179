/* The options of `tacho profile`, with nsys's names and meanings, as rows. How their values are read is a file for each
 * subject: profile_sources.c, profile_window.c, profile_cuda.c, …; here is what belongs to none of them. */
#include "profile_options.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "export/export.h"
#include "profile_command_file.h"
#include "profile_counters.h"
#include "profile_cpu.h"
#include "profile_cuda.h"
#include "profile_program.h"
#include "profile_python.h"
#include "profile_pytorch.h"
#include "profile_sources.h"
#include "profile_stacks.h"
#include "profile_window.h"

#define FIELD(name) offsetof(struct profile_settings, name)

static int take_buffer_limit(void *settings, const char *value, struct error *err)
{
    uint64_t bytes = option_size(value, 1024);

    if (bytes == 0)
        return error_set(err, ERR_BAD_ARGUMENT, "--buffer-limit is a size such as 64M, not '%s'", value);
    ((struct profile_settings *)settings)->collect.buffer_limit_bytes = bytes;
    return 0;
}

static const char *const *export_names(void)
{
    static const char *names[PROFILE_EXPORTS_MAX + 2] = { "none" };

    for (size_t i = 0; exporters[i] && i < PROFILE_EXPORTS_MAX; i++)
        names[i + 1] = exporters[i]->name;
    return names;
}

static int take_one_export(struct profile_settings *settings, const char *name, struct error *err)
{
    static const char *const of_nsys[] = { "info", "hdf", "arrow", "arrowdir", "parquetdir" };
    const struct exporter *exporter = exporter_find(name);

    for (size_t i = 0; i < settings->exports.count; i++)
        if (strcmp(settings->exports.values[i], name) == 0)
            return 0;
    if (exporter && settings->exports.count < PROFILE_EXPORTS_MAX)
        settings->exports.values[settings->exports.count++] = exporter->name;
    for (size_t i = 0; i < sizeof of_nsys / sizeof of_nsys[0]; i++) {
        if (exporter || strcmp(of_nsys[i], name) != 0)
            continue;
        text_addf(&settings->warnings, "--export=%s has no effect: this version does not write it\n", name);
        return 0;
    }
    if (exporter || strcmp(name, "none") == 0)
        return 0;
    return error_set(err, ERR_BAD_ARGUMENT,
                     "--export does not know '%s': tacho export --help lists what can be written", name);
}

static int take_export(void *context, const char *value, struct error *err)
{
    char **names = option_split(value, NULL);

    if (!names)
        return error_set(err, ERR_NO_MEMORY, "out of memory");
    for (char **name = names; *name && err->code == 0; name++)
        take_one_export(context, *name, err);
    free(names);
    return err->code;
}

static const char *const *attach_names(void)
{
    static const char *const names[] = { "caller", "caller-temporary", NULL };

    return names;
}

static const char *const *preload_names(void)
{
    static const char *const names[] = { "yes", "no", NULL };

    return names;
}

/* ---- the table ------------------------------------------------------------------------------------------------- */

/* clang-format off */
const struct option profile_options[] = {
    { .name = "output", .letter = 'o', .kind = OPTION_TEXT, .offset = FIELD(output), .value = "NAME",
      .help = "The report. %p is the program's process id, %h the host, %n a free number, %q{VAR} a variable, %% a "
              "percent sign. Default: report%n." },
    { .name = "force-overwrite", .letter = 'f', .kind = OPTION_BOOL, .offset = FIELD(overwrite),
      .help = "Replace a report that is there already." },
    { .name = "redact", .kind = OPTION_BOOL, .offset = FIELD(redact),
      .help = "Store the names of programs, but no command lines, environment variables or working directory. Default: "
              "false." },
    { .name = "trace", .letter = 't', .kind = OPTION_CUSTOM, .value = "LIST", .choices = profile_source_names,
      .take = profile_sources_take,
      .help = "What to record: cuda, nvtx, osrt, python-gil, cublas, cudnn, cusolver, cusparse, nccl, none; a library "
              "with -verbose behind it: its small calls too. Default: cuda,nvtx,osrt." },
    { .name = "show-output", .letter = 'w', .kind = OPTION_BOOL, .offset = FIELD(show_output),
      .help = "false hides what the program prints and stores it in the report." },
    { .name = "stop-on-exit", .letter = 'x', .kind = OPTION_BOOL, .offset = FIELD(stop_on_exit),
      .help = "false lets the capture run on after the program, until --duration is over." },
    { .name = "delay", .letter = 'y', .kind = OPTION_CUSTOM, .value = "SECONDS", .take = profile_window_take_delay,
      .help = "Begin recording so long after the program's start." },
    { .name = "duration", .letter = 'd', .kind = OPTION_CUSTOM, .value = "SECONDS",
      .take = profile_window_take_duration,
      .help = "End the capture so long after recording began." },
    { .name = "capture-range", .letter = 'c', .kind = OPTION_CUSTOM, .value = "WHAT",
      .choices = profile_window_ranges, .take = profile_window_take_range,
      .help = "What switches recording on: none (the start), nvtx (a range), cudaProfilerApi or api (a call)." },
    { .name = "capture-range-end", .kind = OPTION_CUSTOM, .value = "WHAT", .choices = profile_window_range_ends,
      .take = profile_window_take_range_end,
      .help = "What the end of the range does: none, stop, stop-shutdown (the default), repeat[:N], "
              "repeat-shutdown:N." },
    { .name = "nvtx-capture", .letter = 'p', .kind = OPTION_CUSTOM, .value = "RANGE[@DOMAIN]",
      .take = profile_window_take_nvtx_capture,
      .help = "The range for --capture-range=nvtx; @* is any domain." },
    { .name = "kill", .kind = OPTION_CUSTOM, .value = "SIGNAL", .choices = profile_program_signals,
      .take = profile_program_take_kill,
      .help = "What a program that outlives the capture gets: none, sigint, sigterm (the default), sigkill or a "
              "number." },
    { .name = "wait", .kind = OPTION_CUSTOM, .value = "all|primary", .choices = profile_program_waits,
      .take = profile_program_take_wait,
      .help = "Wait for all processes of the program (the default) or for the first one." },
    { .name = "env-var", .letter = 'e', .kind = OPTION_CUSTOM, .value = "A=B,C=D",
      .take = profile_program_take_variables,
      .help = "Variables for the program." },
    { .name = "inherit-environment", .letter = 'n', .kind = OPTION_BOOL, .offset = FIELD(inherit_environment),
      .help = "false gives the program only the variables of --env-var." },
    { .name = "stats", .kind = OPTION_BOOL, .offset = FIELD(stats),
      .help = "Print the tables of `tacho stats` at the end." },
    { .name = "export", .kind = OPTION_CUSTOM, .value = "LIST", .choices = export_names, .take = take_export,
      .help = "Also write the report as sqlite, or in other formats of `tacho export`, beside it." },
    { .name = "command-file", .kind = OPTION_CUSTOM, .value = "FILE", .take = profile_command_file_take,
      .help = "Read more options from a file." },
    { .name = "nvtx-domain-include", .kind = OPTION_CUSTOM, .value = "LIST", .take = profile_sources_take_include,
      .help = "Record only these NVTX domains; 'default' is the default domain." },
    { .name = "nvtx-domain-exclude", .kind = OPTION_CUSTOM, .value = "LIST", .take = profile_sources_take_exclude,
      .help = "Record all NVTX domains but these." },
    { .name = "osrt-threshold", .kind = OPTION_CUSTOM, .value = "NS", .take = profile_sources_take_osrt_threshold,
      .help = "Calls shorter than this are counted only. Default: 1000." },
    { .name = "osrt-backtrace-threshold", .kind = OPTION_CUSTOM, .value = "NS", .take = profile_stacks_take_threshold,
      .help = "Who made calls that took at least so long is recorded with them. Default: 80000." },
    { .name = "osrt-backtrace-stack-size", .kind = OPTION_CUSTOM, .value = "BYTES",
      .take = profile_stacks_take_stack_size,
      .help = "How much of the stack is copied for that; 0: none. Default: 16384." },
    { .name = "osrt-backtrace-depth", .kind = OPTION_CUSTOM, .value = "FRAMES", .take = profile_stacks_take_depth,
      .help = "How many of the callers are kept. Default: all that are found." },
    { .name = "debug-symbols", .kind = OPTION_CUSTOM, .value = "PATHS", .take = profile_stacks_take_debug_symbols,
      .help = "Folders with debug information, with colons between them; /usr/lib/debug is looked at in any case." },
    { .name = "resolve-symbols", .kind = OPTION_BOOL, .offset = FIELD(resolve_symbols),
      .help = "Look up the names of functions in call chains. Default: true." },
    { .name = "cuda-graph-trace", .kind = OPTION_CUSTOM, .value = "graph|node", .choices = profile_cuda_graph_traces,
      .take = profile_cuda_take_graph_trace, .help = "CUDA graphs as a whole (the default), or each of their nodes." },
    { .name = "cuda-event-trace", .kind = OPTION_CUSTOM, .value = "auto|BOOL", .choices = profile_cuda_event_traces,
      .take = profile_cuda_take_event_trace, .help = "When the GPU reached each CUDA event. Default: false." },
    { .name = "cuda-memory-usage", .kind = OPTION_BOOL, .offset = FIELD(cuda.memory_usage),
      .help = "Allocations of GPU memory, and memory pools." },
    { .name = "cuda-um-cpu-page-faults", .kind = OPTION_BOOL, .offset = FIELD(cuda.cpu_faults),
      .help = "Page faults of the CPU in unified memory." },
    { .name = "cuda-um-gpu-page-faults", .kind = OPTION_BOOL, .offset = FIELD(cuda.gpu_faults),
      .help = "Page faults of the GPU in unified memory." },
    { .name = "cuda-trace-all-apis", .kind = OPTION_BOOL, .offset = FIELD(cuda.all_calls),
      .help = "Every call into CUDA, not only those that matter for performance." },
    { .name = "cudabacktrace", .kind = OPTION_CUSTOM, .value = "LIST", .choices = profile_cuda_backtraces,
      .take = profile_cuda_take_backtrace,
      .help = "Who made CUDA calls that took long: all, none (the default), or kernel, memory, sync, other; :NS behind "
              "it is the threshold (80000)." },
    { .name = "cuda-flush-interval", .kind = OPTION_CUSTOM, .value = "MS", .take = profile_cuda_take_flush_interval,
      .help = "How often records are fetched from the GPU. Default: 0, as Tacho thinks best." },
    { .name = "flush-on-cudaprofilerstop", .kind = OPTION_BOOL, .offset = FIELD(cuda.flush_on_stop),
      .help = "cudaProfilerStop() waits until the records of what went before are there. Default: true." },
    { .name = "cuda-yield", .kind = OPTION_BOOL, .offset = FIELD(cuda.yield),
      .help = "Leave CUPTI to a program that uses it itself (torch.profiler): then it has the GPU's events, and the "
              "report has not." },
    { .name = "pytorch", .kind = OPTION_CUSTOM, .value = "WHAT", .choices = profile_pytorch_choices,
      .take = profile_pytorch_take,
      .help = "Operators of PyTorch: off, auto (where a program uses it; the default without --trace), autograd-nvtx "
              "(as NVTX ranges too), autograd-shapes-nvtx (with shapes), functions-trace (Python functions of torch "
              "too), replace (torch.profiler is ours)." },
    { .name = "pytorch-shapes", .kind = OPTION_BOOL, .offset = FIELD(pytorch.shapes),
      .help = "Shapes, types and values of the operators' inputs." },
    { .name = "pytorch-memory", .kind = OPTION_BOOL, .offset = FIELD(pytorch.memory),
      .help = "What PyTorch's allocators take and give back, on the CPU and on GPUs." },
    { .name = "pytorch-stacks", .kind = OPTION_BOOL, .offset = FIELD(pytorch.stacks),
      .help = "The Python frames that operators are called from." },
    { .name = "pytorch-modules", .kind = OPTION_BOOL, .offset = FIELD(pytorch.modules),
      .help = "Calls of nn.Module, and so the module of each operator and kernel. With autograd-nvtx and "
              "autograd-shapes-nvtx it is so." },
    { .name = "python-sampling", .kind = OPTION_BOOL, .offset = FIELD(python.sampling),
      .help = "Stacks of all Python threads, read without stopping the program." },
    { .name = "python-sampling-frequency", .kind = OPTION_CUSTOM, .value = "HZ", .take = profile_python_take_frequency,
      .help = "How many times a second, 1 to 2000. Default: 1000." },
    { .name = "python-backtrace", .kind = OPTION_CUSTOM, .value = "cuda|none", .choices = profile_python_backtraces,
      .take = profile_python_take_backtrace,
      .help = "cuda: the Python code that CUDA and OS calls came from, of those whose call chain is recorded; of "
              "CUDA's all that took long, unless --cudabacktrace says which." },
    { .name = "sample", .letter = 's', .kind = OPTION_CUSTOM, .value = "SCOPE", .choices = profile_cpu_scopes,
      .take = profile_cpu_take_sample,
      .help = "Sample what CPUs do: process-tree (the program and all that it starts, the default), system-wide, "
              "none." },
    { .name = "backtrace", .letter = 'b', .kind = OPTION_CUSTOM, .value = "HOW", .choices = profile_cpu_backtraces,
      .take = profile_cpu_take_backtrace,
      .help = "How the stack of a sample is found: dwarf (the default), fp (frame pointers), lbr (the CPU's own "
              "record), none." },
    { .name = "sampling-frequency", .kind = OPTION_CUSTOM, .value = "HZ", .take = profile_cpu_take_frequency,
      .help = "Samples a second of running time. Default: 1000." },
    { .name = "sampling-period", .kind = OPTION_CUSTOM, .value = "EVENTS", .take = profile_cpu_take_period,
      .help = "Instead: a sample each so many CPU cycles, or ns where cycles cannot be counted." },
    { .name = "samples-per-backtrace", .kind = OPTION_CUSTOM, .value = "N",
      .take = profile_cpu_take_samples_per_backtrace,
      .help = "Of so many samples one has a stack, the others an address alone. Default: 1." },
    { .name = "backtrace-stack-size", .kind = OPTION_CUSTOM, .value = "BYTES", .take = profile_cpu_take_stack_size,
      .help = "How much of a thread's stack is copied with a sample for dwarf, up to 65528. Default: as much as the "
              "rings allow." },
    { .name = "cpuctxsw", .kind = OPTION_CUSTOM, .value = "SCOPE", .choices = profile_cpu_scopes,
      .take = profile_cpu_take_switches,
      .help = "Record context switches: process-tree, system-wide, none. Default: as --sample." },
    { .name = "event-sample", .kind = OPTION_CUSTOM, .value = "SCOPE", .choices = profile_cpu_scopes,
      .take = profile_counters_take_scope,
      .help = "Count events of the kernel and the CPU: process-tree, system-wide, none. Default: process-tree with one "
              "of the next three." },
    { .name = "os-events", .kind = OPTION_CUSTOM, .value = "LIST", .take = profile_counters_take_os,
      .help = "Which of the kernel; help lists them." },
    { .name = "cpu-core-events", .kind = OPTION_CUSTOM, .value = "LIST", .take = profile_counters_take_core,
      .help = "Which of the CPU's cores; help lists them." },
    { .name = "cpu-core-metrics", .kind = OPTION_CUSTOM, .value = "LIST", .take = profile_counters_take_metrics,
      .help = "Those that such a metric is made of; help lists them." },
    { .name = "event-sampling-interval", .kind = OPTION_CUSTOM, .value = "MS", .take = profile_counters_take_interval,
      .help = "How often they are read: each 1 to 1000 ms. Default: 10." },
    { .name = "trace-fork-before-exec", .kind = OPTION_BOOL, .offset = FIELD(trace_fork),
      .help = "Record forked children that have not called exec. Default: true." },
    { .name = "buffer-limit", .kind = OPTION_CUSTOM, .value = "SIZE", .take = take_buffer_limit,
      .help = "The most memory that the events of one process may take before they are written: 64M. Default: 256M, "
              "less in a small container." },
    { .name = "preload", .kind = OPTION_BOOL, .offset = FIELD(preload), .choices = preload_names,
      .help = "no leaves only what CUDA and NVTX injection reach: no OS runtime, no library calls, no process that "
              "uses neither." },
    { .name = "python-functions-trace", .kind = OPTION_CUSTOM, .value = "FILE", .take = profile_python_take_functions,
      .help = "Calls of the Python functions that this JSON names are ranges: [{\"module\": …, \"functions\": [\"f\", "
              "\"Class.method\"]}]." },
    { .name = "attach", .kind = OPTION_CHOICE, .offset = FIELD(attach), .value = "caller", .choices = attach_names,
      .help = "Record the process that runs tacho, which loads the agent itself, instead of a program: what the Python "
              "package does. caller-temporary: the report and its folder go in the end." },
    { .name = "quiet", .letter = 'q', .kind = OPTION_FLAG, .offset = FIELD(quiet),
      .help = "No summary at the end." },
    { .name = "stop-on-range-end", .kind = OPTION_CUSTOM, .value = "BOOL",
      .take = profile_window_take_stop_on_range_end, .hidden = 1,
      .help = "Old spelling of --capture-range-end." },
    { .name = "event-sampling-frequency", .kind = OPTION_CUSTOM, .value = "HZ",
      .take = profile_counters_take_frequency, .hidden = 1,
      .help = "Old spelling of --event-sampling-interval." },
    { .name = "cudabacktrace-threshold", .kind = OPTION_CUSTOM, .value = "NS",
      .take = profile_cuda_take_backtrace_threshold, .hidden = 1,
      .help = "Old spelling of a threshold in --cudabacktrace." },
#define IGNORED(option, key, why) \
    { .name = option, .letter = key, .kind = OPTION_IGNORED, .value = "VALUE", .help = why },
#include "profile_ignored.def"
#undef IGNORED
    { 0 },
};
/* clang-format on */

void profile_options_init(struct profile_settings *settings)
{
    *settings = (struct profile_settings){
        .options = profile_options,
        .output = "report%n",
        .show_output = 1,
        .inherit_environment = 1,
        .stop_on_exit = 1,
        .trace_fork = 1,
        .preload = 1,
    };
    profile_cuda_init(&settings->cuda);
    profile_stacks_init(settings);
    settings->collect.cpu.backtrace = COLLECT_BACKTRACE_DWARF;
    settings->collect.osrt_threshold_ns = 1000;
    settings->collect.range_end = COLLECT_END_STOP_SHUTDOWN;
    settings->collect.kill_signal = collect_signal_number("sigterm");
}

/* all of them and the report's path fit into the settings that agents get (WIRE_TEXT_BYTES) */
#define LONGEST_NAMES 28000
_Static_assert(LONGEST_NAMES + PATH_MAX + 64 < WIRE_TEXT_BYTES, "no name is cut or left out");

static size_t names_length(const struct collect_options *collect)
{
    const char *const *lists[] = { collect->nvtx_domain_include, collect->nvtx_domain_exclude };
    size_t length = 0;

    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++)
        for (const char *const *name = lists[i]; name && *name; name++)
            length += strlen(*name) + 1;
    length += collect->range_text ? strlen(collect->range_text) : 0;
    return length + (collect->range_domain ? strlen(collect->range_domain) : 0);
}

int profile_options_finish(struct profile_settings *settings, struct error *err)
{
    struct collect_options *collect = &settings->collect;

    profile_sources_finish(settings, collect);
    profile_cuda_finish(settings, collect);
    profile_python_finish(settings, collect);
    profile_pytorch_finish(settings, collect);
    profile_cpu_finish(settings, collect);
    profile_counters_finish(settings, collect);
    collect->overwrite = settings->overwrite;
    collect->redact = settings->redact;
    collect->hide_output = !settings->show_output;
    collect->clean_environment = !settings->inherit_environment;
    collect->run_on_exit = !settings->stop_on_exit;
    collect->trace_fork_before_exec = settings->trace_fork;
    collect->no_preload = !settings->preload;
    collect->no_names = !settings->resolve_symbols;
    collect->environment = settings->environment;
    if (settings->attach)
        collect->kill_signal = 0;
    if (collect->range == COLLECT_RANGE_NVTX && !(collect->sources & WIRE_BIT(NVTX)))
        return error_set(err, ERR_BAD_ARGUMENT, "--capture-range=nvtx needs --trace=nvtx");
    if (collect->range == COLLECT_RANGE_NVTX && !collect->range_text)
        return error_set(err, ERR_BAD_ARGUMENT, "--capture-range=nvtx needs the name of a range: --nvtx-capture=NAME");
    if (collect->nvtx_domain_include && collect->nvtx_domain_exclude)
        return error_set(err, ERR_BAD_ARGUMENT,
                         "--nvtx-domain-include and --nvtx-domain-exclude cannot be used together");
    if (names_length(collect) > LONGEST_NAMES)
        return error_set(err, ERR_BAD_ARGUMENT, "the names of NVTX domains and ranges take more than %d bytes",
                         LONGEST_NAMES);
    if (collect->run_on_exit && collect->duration_ns == 0)
        return error_set(err, ERR_BAD_ARGUMENT,
                         "--stop-on-exit=false needs --duration, or the capture would never end");
    return 0;
}
