/* The options of `tacho profile`, with nsys's names and meanings, as rows; and the functions that read their values. */
#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../export/export.h"
#include "../wire/libraries.h"
#include "profile.h"
#include "profile_counters.h"
#include "profile_cpu.h"
#include "profile_cuda.h"
#include "profile_python.h"
#include "profile_pytorch.h"
#include "profile_stacks.h"

#define FIELD(name) offsetof(struct profile_settings, name)

/* ---- memory and numbers ------------------------------------------------------------------------------------------- */

/* Keeps an allocation until the settings are freed; NULL when memory or room is short. */
static void *own(struct profile_settings *settings, void *memory)
{
    if (memory && settings->owned_count < sizeof settings->owned / sizeof settings->owned[0]) {
        settings->owned[settings->owned_count++] = memory;
        return memory;
    }
    free(memory);
    return NULL;
}

#define LONGEST_NS UINT64_C(1000000000000000000) /* 30 years; in ticks of any counter it still fits */

static int no_memory(struct error *err)
{
    return error_set(err, ERR_NO_MEMORY, "out of memory");
}

static int read_seconds(const char *name, const char *value, int64_t *out_ns, struct error *err)
{
    char *end;
    double seconds = strtod(value, &end);

    if (end == value || *end || !(seconds >= 0) || seconds > 9e9)
        return error_set(err, ERR_BAD_ARGUMENT, "--%s is a number of seconds, not '%s'", name, value);
    *out_ns = (int64_t)(seconds * 1e9 + 0.5);
    return 0;
}

static int take_delay(void *settings, const char *value, struct error *err)
{
    return read_seconds("delay", value, &((struct profile_settings *)settings)->collect.delay_ns, err);
}

static int take_duration(void *settings, const char *value, struct error *err)
{
    return read_seconds("duration", value, &((struct profile_settings *)settings)->collect.duration_ns, err);
}

static int take_threshold(void *settings, const char *value, struct error *err)
{
    char *end;
    unsigned long long ns = strtoull(value, &end, 10);

    if (!isdigit((unsigned char)*value) || *end || ns > LONGEST_NS)
        return error_set(err, ERR_BAD_ARGUMENT, "--osrt-threshold is a number of nanoseconds, not '%s'", value);
    ((struct profile_settings *)settings)->collect.osrt_threshold_ns = ns;
    return 0;
}

static int take_buffer_limit(void *settings, const char *value, struct error *err)
{
    uint64_t bytes = option_size(value, 1024);

    if (bytes == 0)
        return error_set(err, ERR_BAD_ARGUMENT, "--buffer-limit is a size such as 64M, not '%s'", value);
    ((struct profile_settings *)settings)->collect.buffer_limit_bytes = bytes;
    return 0;
}

/* ---- what is recorded ------------------------------------------------------------------------------------------------ */

enum { BY_AGENT, BY_NOBODY, BY_PYTHON_SAMPLING };

/* What -t can name, and who records it: agents (WIRE_BIT()s, for libraries their own bits), nobody yet, or Python's sampler. */
static const struct { const char *name; uint32_t bits, libraries; int how; } sources[] = {
    { "cuda", WIRE_BIT(CUDA), 0, 0 }, { "nvtx", WIRE_BIT(NVTX), 0, 0 }, { "osrt", WIRE_BIT(OSRT), 0, 0 }, { "none", 0, 0, 0 },
    { "python-gil", 0, 0, BY_PYTHON_SAMPLING },
    { "cuda-hw", WIRE_BIT(CUDA), 0, 0 }, { "cuda-sw", WIRE_BIT(CUDA), 0, 0 },
#define LIBRARY(id, name, domain)                                                                                    \
    { name, WIRE_BIT(LIBRARY), WIRE_LIBRARY_BIT(WIRE_LIBRARY_##id), 0 },                                              \
    { name "-verbose", WIRE_BIT(LIBRARY), WIRE_LIBRARY_BIT(WIRE_LIBRARY_##id) | WIRE_LIBRARY_VERBOSE(WIRE_LIBRARY_##id), 0 },
#include "../wire/libraries.def"
#undef LIBRARY
#define KNOWN_ONLY(name) { name, 0, 0, BY_NOBODY }
    KNOWN_ONLY("cudla"), KNOWN_ONLY("cudla-verbose"), KNOWN_ONLY("gds"), KNOWN_ONLY("mpi"), KNOWN_ONLY("oshmem"), KNOWN_ONLY("ucx"),
    KNOWN_ONLY("opengl"), KNOWN_ONLY("opengl-annotations"), KNOWN_ONLY("openacc"), KNOWN_ONLY("openmp"), KNOWN_ONLY("nvvideo"),
    KNOWN_ONLY("nvmedia"), KNOWN_ONLY("vulkan"), KNOWN_ONLY("vulkan-annotations"), KNOWN_ONLY("openxr"),
    KNOWN_ONLY("syscall"), KNOWN_ONLY("tegra-accelerators"), KNOWN_ONLY("nvshmem"), KNOWN_ONLY("cusparse-lt"), KNOWN_ONLY("cufft"),
    KNOWN_ONLY("curand"), KNOWN_ONLY("npp"), KNOWN_ONLY("dx11"), KNOWN_ONLY("dx11-annotations"), KNOWN_ONLY("dx12"),
    KNOWN_ONLY("dx12-annotations"), KNOWN_ONLY("wddm"), KNOWN_ONLY("sw"), KNOWN_ONLY("hw"),
#undef KNOWN_ONLY
};

enum { SOURCE_NAMES = sizeof sources / sizeof sources[0] };

static const char *const *source_names(void)
{
    static const char *names[SOURCE_NAMES + 1];

    for (size_t i = 0; i < SOURCE_NAMES; i++)
        names[i] = sources[i].name;
    return names;
}

static int take_one_source(struct profile_settings *settings, const char *name, struct error *err)
{
    for (size_t i = 0; i < SOURCE_NAMES; i++) {
        if (strcmp(sources[i].name, name) != 0)
            continue;
        settings->sources_given |= sources[i].bits;
        settings->libraries_given |= sources[i].libraries;
        settings->python.gil |= sources[i].how == BY_PYTHON_SAMPLING;
        if (sources[i].how == BY_NOBODY)
            text_addf(&settings->unsupported, "%s%s", settings->unsupported.length ? ", " : "", name);
        return 0;
    }
    const char *nearest = nearest_name(name, source_names());
    if (nearest)
        return error_set(err, ERR_BAD_ARGUMENT, "--trace does not know '%s'; did you mean %s?", name, nearest);
    return error_set(err, ERR_BAD_ARGUMENT, "--trace does not know '%s': it is a list of cuda, nvtx, osrt, cublas, cudnn, cusolver, cusparse, "
                     "nccl, python-gil and none; nsys's other names are taken without an effect", name);
}

/* One sentence for all names that were taken without an effect. */
static void warn_unsupported(struct profile_settings *settings)
{
    const char *names = text_string(&settings->unsupported);

    if (!settings->unsupported.length)
        return;
    text_addf(&settings->warnings, "--trace=%s %s no effect: this version does not record %s yet%s\n", names,
              strchr(names, ',') ? "have" : "has", strchr(names, ',') ? "them" : "it",
              settings->sources_given ? "" : "; nothing is recorded but processes and threads: add cuda, nvtx, osrt");
}

static int take_trace(void *context, const char *value, struct error *err)
{
    struct profile_settings *settings = context;
    char **names = option_split(value, NULL);

    if (!names)
        return no_memory(err);
    settings->has_sources = 1;
    settings->sources_given = settings->libraries_given = 0;
    settings->python.gil = 0;
    text_clear(&settings->unsupported);
    for (char **name = names; *name && err->code == 0; name++)
        take_one_source(settings, *name, err);
    free(names);
    return err->code;
}

static int take_domains(struct profile_settings *settings, const char *value, const char *const **field, struct error *err)
{
    char **names = own(settings, option_split(value, NULL));

    *field = (const char *const *)names;
    return names ? 0 : no_memory(err);
}

static int take_domain_include(void *settings, const char *value, struct error *err)
{
    return take_domains(settings, value, &((struct profile_settings *)settings)->collect.nvtx_domain_include, err);
}

static int take_domain_exclude(void *settings, const char *value, struct error *err)
{
    return take_domains(settings, value, &((struct profile_settings *)settings)->collect.nvtx_domain_exclude, err);
}

/* ---- when it is recorded ------------------------------------------------------------------------------------------------ */

static const char *const *range_names(void)
{
    static const char *const names[] = { "none", "nvtx", "cudaProfilerApi", "api", NULL };

    return names;
}

static int take_range(void *context, const char *value, struct error *err)
{
    struct profile_settings *settings = context;

    if (strcmp(value, "none") == 0)
        settings->collect.range = COLLECT_RANGE_NONE;
    else if (strcmp(value, "nvtx") == 0)
        settings->collect.range = COLLECT_RANGE_NVTX;
    else if (strcmp(value, "cudaProfilerApi") == 0 || strcmp(value, "api") == 0)
        settings->collect.range = COLLECT_RANGE_API;
    else if (strcmp(value, "hotkey") == 0)
        text_add(&settings->warnings, "--capture-range=hotkey has no effect: there are no hot keys on a terminal\n");
    else
        return error_set(err, ERR_BAD_ARGUMENT, "--capture-range is none, nvtx, cudaProfilerApi or api, not '%s'", value);
    return 0;
}

static const struct { const char *name; enum collect_range_end end; int may_count, must_count; } range_ends[] = {
    { "none", COLLECT_END_NONE, 0, 0 }, { "stop", COLLECT_END_STOP, 0, 0 }, { "stop-shutdown", COLLECT_END_STOP_SHUTDOWN, 0, 0 },
    { "repeat", COLLECT_END_REPEAT, 1, 0 }, { "repeat-shutdown", COLLECT_END_REPEAT_SHUTDOWN, 1, 1 },
};

static const char *const *range_end_names(void)
{
    static const char *const names[] = { "none", "stop", "stop-shutdown", "repeat", "repeat-shutdown:1", NULL };

    return names;
}

static int take_range_end(void *context, const char *value, struct error *err)
{
    struct profile_settings *settings = context;
    size_t length = strcspn(value, ":");
    char *end = NULL;
    unsigned long count = value[length] ? strtoul(value + length + 1, &end, 10) : 0;

    for (size_t i = 0; i < sizeof range_ends / sizeof range_ends[0]; i++) {
        if (strlen(range_ends[i].name) != length || strncmp(range_ends[i].name, value, length) != 0)
            continue;
        int has_count = value[length] != 0;
        if (has_count && (!isdigit((unsigned char)value[length + 1]) || *end || count == 0 || count > 1000000))
            break;
        if (has_count ? !range_ends[i].may_count : range_ends[i].must_count)
            break;
        settings->collect.range_end = range_ends[i].end;
        settings->collect.range_repeat = (unsigned)count;
        return 0;
    }
    return error_set(err, ERR_BAD_ARGUMENT, "--capture-range-end is none, stop, stop-shutdown, repeat[:N] or "
                     "repeat-shutdown:N, not '%s'", value);
}

/* The old spelling: whether the end of the range ends the capture. */
static int take_stop_on_range_end(void *context, const char *value, struct error *err)
{
    int stops = option_bool(value);

    if (stops < 0)
        return error_set(err, ERR_BAD_ARGUMENT, "--stop-on-range-end is true or false, not '%s'", value);
    ((struct profile_settings *)context)->collect.range_end = stops ? COLLECT_END_STOP_SHUTDOWN : COLLECT_END_NONE;
    return 0;
}

/* range, range@domain or range@*; a backslash makes the next character an ordinary one. */
static int take_nvtx_capture(void *context, const char *value, struct error *err)
{
    struct profile_settings *settings = context;
    char *text = own(settings, malloc(strlen(value) + 1)), *out = text;

    if (!text)
        return no_memory(err);
    settings->collect.range_domain = NULL;
    for (const char *at = value; *at; at++) {
        if (*at == '@' && !settings->collect.range_domain) {
            *out++ = 0;
            settings->collect.range_domain = out;
            continue;
        }
        if (*at == '\\' && at[1])
            at++;
        *out++ = *at;
    }
    *out = 0;
    settings->collect.range_text = *text ? text : NULL;
    if (settings->collect.range_domain && !*settings->collect.range_domain)
        settings->collect.range_domain = NULL;
    return 0;
}

/* ---- the program ------------------------------------------------------------------------------------------------------------ */

static int take_kill(void *context, const char *value, struct error *err)
{
    int number = collect_signal_number(value);

    if (number < 0)
        return error_set(err, ERR_BAD_ARGUMENT, "--kill is none, sigint, sigterm, sigkill or a signal's number, not '%s'", value);
    ((struct profile_settings *)context)->collect.kill_signal = number;
    return 0;
}

static const char *const *kill_names(void)
{
    static const char *const names[] = { "none", "sigint", "sigterm", "sigkill", NULL };

    return names;
}

static const char *const *wait_names(void)
{
    static const char *const names[] = { "all", "primary", NULL };

    return names;
}

static int take_wait(void *context, const char *value, struct error *err)
{
    if (strcmp(value, "all") != 0 && strcmp(value, "primary") != 0)
        return error_set(err, ERR_BAD_ARGUMENT, "--wait is all or primary, not '%s'", value);
    ((struct profile_settings *)context)->collect.wait_primary = strcmp(value, "primary") == 0;
    return 0;
}

static int take_variables(void *context, const char *value, struct error *err)
{
    struct profile_settings *settings = context;
    char **pairs = own(settings, option_split(value, NULL));

    if (!pairs)
        return no_memory(err);
    for (; *pairs; pairs++) {
        char *equals = strchr(*pairs, '=');
        if (!equals || equals == *pairs)
            return error_set(err, ERR_BAD_ARGUMENT, "--env-var is NAME=VALUE, not '%s'", *pairs);
        if (settings->collect.environment_count == sizeof settings->environment / sizeof settings->environment[0])
            return error_set(err, ERR_BAD_ARGUMENT, "--env-var sets too many variables");
        *equals = 0;
        settings->environment[settings->collect.environment_count++] = (struct collect_variable){ *pairs, equals + 1 };
    }
    return 0;
}

/* ---- more options from a file ------------------------------------------------------------------------------------------------- */

/* Splits like a shell: blanks part, quotes and backslashes join, # begins a comment. Works in place; words has room. */
static size_t split_words(char *text, char **words, size_t room)
{
    char *in = text, *out = text;
    size_t count = 0;

    while (*in && count < room) {
        while (isspace((unsigned char)*in))
            in++;
        if (*in == '#') {
            in += strcspn(in, "\n");
            continue;
        }
        if (!*in)
            break;
        words[count++] = out;
        char quote = 0;
        for (; *in && (quote || !isspace((unsigned char)*in)); in++) {
            if (*in == quote)
                quote = 0;
            else if (!quote && (*in == '"' || *in == '\''))
                quote = *in;
            else
                *out++ = *in == '\\' && quote != '\'' && in[1] ? *++in : *in;
        }
        in += *in != 0;
        *out++ = 0;
    }
    return count;
}

enum { LARGEST_FILE = 1 << 20, MOST_WORDS = 1024 };

static char *read_small_file(const char *path, struct error *err)
{
    FILE *file = fopen(path, "re");
    char *text = file ? malloc(LARGEST_FILE + 1) : NULL;
    size_t length = text ? fread(text, 1, LARGEST_FILE + 1, file) : 0;

    if (!file || ferror(file)) {
        error_set_errno(err, "cannot read the command file '%s'", path);
        err->code = ERR_BAD_ARGUMENT;
    } else if (!text) {
        no_memory(err);
    } else if (length > LARGEST_FILE || memchr(text, 0, length)) {
        error_set(err, ERR_BAD_ARGUMENT, "the command file '%s' is not a text of at most 1 MB", path);
    }
    if (file)
        fclose(file);
    if (err->code) {
        free(text);
        return NULL;
    }
    text[length] = 0;
    return text;
}

static int take_command_file(void *context, const char *value, struct error *err)
{
    struct profile_settings *settings = context;
    char *text = own(settings, read_small_file(value, err));
    char **words = own(settings, calloc(MOST_WORDS + 3, sizeof *words));
    const char **operands = own(settings, calloc(MOST_WORDS + 3, sizeof *operands));

    if (!text || !words || !operands)
        return err->code ? err->code : no_memory(err);
    size_t count = split_words(text, words + 1, MOST_WORDS + 1);
    if (count > MOST_WORDS)
        return error_set(err, ERR_BAD_ARGUMENT, "the command file '%s' has more than %d words", value, MOST_WORDS);
    struct option_parse parse = { .options = profile_options, .settings = settings, .operands = operands };
    for (size_t i = 1; i <= count; i++)
        if (strncmp(words[i], "--command-file", 14) == 0)
            return error_set(err, ERR_BAD_ARGUMENT, "the command file '%s' names another command file", value);
    int code = options_parse(&parse, (int)count + 1, words, err);
    text_add(&settings->warnings, text_string(&parse.warnings));
    text_free(&parse.warnings);
    if (code == 0 && parse.operand_count)
        return error_set(err, ERR_BAD_ARGUMENT, "the command file '%s' holds '%s', which is not an option", value, parse.operands[0]);
    return code;
}

/* ---- what is written ------------------------------------------------------------------------------------------------------------ */

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
    return error_set(err, ERR_BAD_ARGUMENT, "--export does not know '%s': tacho export --help lists what can be written", name);
}

static int take_export(void *context, const char *value, struct error *err)
{
    char **names = option_split(value, NULL);

    if (!names)
        return no_memory(err);
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

const struct option profile_options[] = {
    { .name = "output", .letter = 'o', .kind = OPTION_TEXT, .offset = FIELD(output), .value = "NAME",
      .help = "The report. %p is the program's process id, %h the host, %n a free number, %q{VAR} a variable, %% a "
              "percent sign. Default: report%n." },
    { .name = "force-overwrite", .letter = 'f', .kind = OPTION_BOOL, .offset = FIELD(overwrite),
      .help = "Replace a report that is there already." },
    { .name = "trace", .letter = 't', .kind = OPTION_CUSTOM, .value = "LIST", .choices = source_names, .take = take_trace,
      .help = "What to record: cuda, nvtx, osrt, python-gil, cublas, cudnn, cusolver, cusparse, nccl, none; a library with -verbose behind it: its "
              "small calls too. Default: cuda,nvtx,osrt." },
    { .name = "show-output", .letter = 'w', .kind = OPTION_BOOL, .offset = FIELD(show_output),
      .help = "false hides what the program prints and stores it in the report." },
    { .name = "stop-on-exit", .letter = 'x', .kind = OPTION_BOOL, .offset = FIELD(stop_on_exit),
      .help = "false lets the capture run on after the program, until --duration is over." },
    { .name = "delay", .letter = 'y', .kind = OPTION_CUSTOM, .value = "SECONDS", .take = take_delay,
      .help = "Begin recording so long after the program's start." },
    { .name = "duration", .letter = 'd', .kind = OPTION_CUSTOM, .value = "SECONDS", .take = take_duration,
      .help = "End the capture so long after recording began." },
    { .name = "capture-range", .letter = 'c', .kind = OPTION_CUSTOM, .value = "WHAT", .choices = range_names, .take = take_range,
      .help = "What switches recording on: none (the start), nvtx (a range), cudaProfilerApi or api (a call)." },
    { .name = "capture-range-end", .kind = OPTION_CUSTOM, .value = "WHAT", .choices = range_end_names, .take = take_range_end,
      .help = "What the end of the range does: none, stop, stop-shutdown (the default), repeat[:N], "
              "repeat-shutdown:N." },
    { .name = "nvtx-capture", .letter = 'p', .kind = OPTION_CUSTOM, .value = "RANGE[@DOMAIN]", .take = take_nvtx_capture,
      .help = "The range for --capture-range=nvtx; @* is any domain." },
    { .name = "kill", .kind = OPTION_CUSTOM, .value = "SIGNAL", .choices = kill_names, .take = take_kill,
      .help = "What a program that outlives the capture gets: none, sigint, sigterm (the default), sigkill or a number." },
    { .name = "wait", .kind = OPTION_CUSTOM, .value = "all|primary", .choices = wait_names, .take = take_wait,
      .help = "Wait for all processes of the program (the default) or for the first one." },
    { .name = "env-var", .letter = 'e', .kind = OPTION_CUSTOM, .value = "A=B,C=D", .take = take_variables,
      .help = "Variables for the program." },
    { .name = "inherit-environment", .letter = 'n', .kind = OPTION_BOOL, .offset = FIELD(inherit_environment),
      .help = "false gives the program only the variables of --env-var." },
    { .name = "stats", .kind = OPTION_BOOL, .offset = FIELD(stats),
      .help = "Print the tables of `tacho stats` at the end." },
    { .name = "export", .kind = OPTION_CUSTOM, .value = "LIST", .choices = export_names, .take = take_export,
      .help = "Also write the report as sqlite, or in other formats of `tacho export`, beside it." },
    { .name = "command-file", .kind = OPTION_CUSTOM, .value = "FILE", .take = take_command_file,
      .help = "Read more options from a file." },
    { .name = "nvtx-domain-include", .kind = OPTION_CUSTOM, .value = "LIST", .take = take_domain_include,
      .help = "Record only these NVTX domains; 'default' is the default domain." },
    { .name = "nvtx-domain-exclude", .kind = OPTION_CUSTOM, .value = "LIST", .take = take_domain_exclude,
      .help = "Record all NVTX domains but these." },
    { .name = "osrt-threshold", .kind = OPTION_CUSTOM, .value = "NS", .take = take_threshold,
      .help = "Calls shorter than this are counted only. Default: 1000." },
    { .name = "osrt-backtrace-threshold", .kind = OPTION_CUSTOM, .value = "NS", .take = profile_stacks_take_threshold,
      .help = "Who made calls that took at least so long is recorded with them. Default: 80000." },
    { .name = "osrt-backtrace-stack-size", .kind = OPTION_CUSTOM, .value = "BYTES", .take = profile_stacks_take_stack_size,
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
    { .name = "cudabacktrace", .kind = OPTION_CUSTOM, .value = "LIST", .choices = profile_cuda_backtraces, .take = profile_cuda_take_backtrace,
      .help = "Who made CUDA calls that took long: all, none (the default), or kernel, memory, sync, other; :NS behind it is the threshold "
              "(80000)." },
    { .name = "cuda-flush-interval", .kind = OPTION_CUSTOM, .value = "MS", .take = profile_cuda_take_flush_interval,
      .help = "How often records are fetched from the GPU. Default: 0, as Tacho thinks best." },
    { .name = "flush-on-cudaprofilerstop", .kind = OPTION_BOOL, .offset = FIELD(cuda.flush_on_stop),
      .help = "cudaProfilerStop() waits until the records of what went before are there. Default: true." },
    { .name = "cuda-yield", .kind = OPTION_BOOL, .offset = FIELD(cuda.yield),
      .help = "Leave CUPTI to a program that uses it itself (torch.profiler): then it has the GPU's events, and the report has not." },
    { .name = "pytorch", .kind = OPTION_CUSTOM, .value = "WHAT", .choices = profile_pytorch_choices, .take = profile_pytorch_take,
      .help = "Operators of PyTorch: off, auto (where a program uses it; the default without --trace), autograd-nvtx (as NVTX ranges too), "
              "autograd-shapes-nvtx (with shapes), functions-trace (Python functions of torch too), replace (torch.profiler is ours)." },
    { .name = "pytorch-shapes", .kind = OPTION_BOOL, .offset = FIELD(pytorch.shapes),
      .help = "Shapes, types and values of the operators' inputs." },
    { .name = "pytorch-memory", .kind = OPTION_BOOL, .offset = FIELD(pytorch.memory),
      .help = "What PyTorch's allocators take and give back, on the CPU and on GPUs." },
    { .name = "pytorch-stacks", .kind = OPTION_BOOL, .offset = FIELD(pytorch.stacks),
      .help = "The Python frames that operators are called from." },
    { .name = "pytorch-modules", .kind = OPTION_BOOL, .offset = FIELD(pytorch.modules),
      .help = "Calls of nn.Module, and so the module of each operator and kernel. With autograd-nvtx and autograd-shapes-nvtx it is so." },
    { .name = "python-sampling", .kind = OPTION_BOOL, .offset = FIELD(python.sampling),
      .help = "Stacks of all Python threads, read without stopping the program." },
    { .name = "python-sampling-frequency", .kind = OPTION_CUSTOM, .value = "HZ", .take = profile_python_take_frequency,
      .help = "How many times a second, 1 to 2000. Default: 1000." },
    { .name = "python-backtrace", .kind = OPTION_CUSTOM, .value = "cuda|none", .choices = profile_python_backtraces, .take = profile_python_take_backtrace,
      .help = "cuda: the Python code that CUDA and OS calls came from, of those whose call chain is recorded; of CUDA's all that took long, unless --cudabacktrace says which." },
    { .name = "sample", .letter = 's', .kind = OPTION_CUSTOM, .value = "SCOPE", .choices = profile_cpu_scopes, .take = profile_cpu_take_sample,
      .help = "Sample what CPUs do: process-tree (the program and all that it starts, the default), system-wide, none." },
    { .name = "backtrace", .letter = 'b', .kind = OPTION_CUSTOM, .value = "HOW", .choices = profile_cpu_backtraces, .take = profile_cpu_take_backtrace,
      .help = "How the stack of a sample is found: dwarf (the default), fp (frame pointers), lbr (the CPU's own record), none." },
    { .name = "sampling-frequency", .kind = OPTION_CUSTOM, .value = "HZ", .take = profile_cpu_take_frequency,
      .help = "Samples a second of running time. Default: 1000." },
    { .name = "sampling-period", .kind = OPTION_CUSTOM, .value = "EVENTS", .take = profile_cpu_take_period,
      .help = "Instead: a sample each so many CPU cycles, or ns where cycles cannot be counted." },
    { .name = "samples-per-backtrace", .kind = OPTION_CUSTOM, .value = "N", .take = profile_cpu_take_samples_per_backtrace,
      .help = "Of so many samples one has a stack, the others an address alone. Default: 1." },
    { .name = "backtrace-stack-size", .kind = OPTION_CUSTOM, .value = "BYTES", .take = profile_cpu_take_stack_size,
      .help = "How much of a thread's stack is copied with a sample for dwarf, up to 65528. Default: as much as the rings allow." },
    { .name = "cpuctxsw", .kind = OPTION_CUSTOM, .value = "SCOPE", .choices = profile_cpu_scopes, .take = profile_cpu_take_switches,
      .help = "Record context switches: process-tree, system-wide, none. Default: as --sample." },
    { .name = "event-sample", .kind = OPTION_CUSTOM, .value = "SCOPE", .choices = profile_cpu_scopes, .take = profile_counters_take_scope,
      .help = "Count events of the kernel and the CPU: process-tree, system-wide, none. Default: process-tree with one of the next three." },
    { .name = "os-events", .kind = OPTION_CUSTOM, .value = "LIST", .take = profile_counters_take_os, .help = "Which of the kernel; help lists them." },
    { .name = "cpu-core-events", .kind = OPTION_CUSTOM, .value = "LIST", .take = profile_counters_take_core, .help = "Which of the CPU's cores; help lists them." },
    { .name = "cpu-core-metrics", .kind = OPTION_CUSTOM, .value = "LIST", .take = profile_counters_take_metrics,
      .help = "Those that such a metric is made of; help lists them." },
    { .name = "event-sampling-interval", .kind = OPTION_CUSTOM, .value = "MS", .take = profile_counters_take_interval,
      .help = "How often they are read: each 1 to 1000 ms. Default: 10." },
    { .name = "trace-fork-before-exec", .kind = OPTION_BOOL, .offset = FIELD(trace_fork),
      .help = "Record forked children that have not called exec. Default: true." },
    { .name = "buffer-limit", .kind = OPTION_CUSTOM, .value = "SIZE", .take = take_buffer_limit,
      .help = "The most memory that the events of one process may take before they are written: 64M. Default: "
              "256M, less in a small container." },
    { .name = "preload", .kind = OPTION_BOOL, .offset = FIELD(preload), .choices = preload_names,
      .help = "no leaves only what CUDA and NVTX injection reach: no OS runtime, no library calls, no process that uses neither." },
    { .name = "python-functions-trace", .kind = OPTION_CUSTOM, .value = "FILE", .take = profile_python_take_functions,
      .help = "Calls of the Python functions that this JSON names are ranges: [{\"module\": …, \"functions\": [\"f\", \"Class.method\"]}]." },
    { .name = "attach", .kind = OPTION_CHOICE, .offset = FIELD(attach), .value = "caller", .choices = attach_names,
      .help = "Record the process that runs tacho, which loads the agent itself, instead of a program: what the Python package does. "
              "caller-temporary: the report and its folder go in the end." },
    { .name = "quiet", .letter = 'q', .kind = OPTION_FLAG, .offset = FIELD(quiet),
      .help = "No summary at the end." },
    { .name = "stop-on-range-end", .kind = OPTION_CUSTOM, .value = "BOOL", .take = take_stop_on_range_end, .hidden = 1,
      .help = "Old spelling of --capture-range-end." },
    { .name = "event-sampling-frequency", .kind = OPTION_CUSTOM, .value = "HZ", .take = profile_counters_take_frequency, .hidden = 1,
      .help = "Old spelling of --event-sampling-interval." },
    { .name = "cudabacktrace-threshold", .kind = OPTION_CUSTOM, .value = "NS", .take = profile_cuda_take_backtrace_threshold, .hidden = 1,
      .help = "Old spelling of a threshold in --cudabacktrace." },
#define IGNORED(option, key, why) { .name = option, .letter = key, .kind = OPTION_IGNORED, .value = "VALUE", .help = why },
#include "profile_ignored.def"
#undef IGNORED
    {0},
};

void profile_settings_init(struct profile_settings *settings)
{
    *settings = (struct profile_settings){ .output = "report%n", .show_output = 1, .inherit_environment = 1, .stop_on_exit = 1,
                                           .trace_fork = 1, .preload = 1 };
    profile_cuda_init(&settings->cuda);
    profile_stacks_init(settings);
    settings->collect.cpu.backtrace = COLLECT_BACKTRACE_DWARF;
    settings->collect.osrt_threshold_ns = 1000;
    settings->collect.range_end = COLLECT_END_STOP_SHUTDOWN;
    settings->collect.kill_signal = collect_signal_number("sigterm");
}

#define LONGEST_NAMES 28000 /* all of them and the report's path fit into the settings that agents get (WIRE_TEXT_BYTES) */
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

int profile_settings_finish(struct profile_settings *settings, struct error *err)
{
    struct collect_options *collect = &settings->collect;

    warn_unsupported(settings);
    collect->sources = settings->has_sources ? settings->sources_given : WIRE_BIT(CUDA) | WIRE_BIT(NVTX) | WIRE_BIT(OSRT);
    collect->libraries = settings->libraries_given;
    profile_cuda_finish(settings, collect);
    profile_python_finish(settings, collect);
    profile_pytorch_finish(settings, collect);
    profile_cpu_finish(settings, collect);
    profile_counters_finish(settings, collect);
    collect->overwrite = settings->overwrite;
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
        return error_set(err, ERR_BAD_ARGUMENT, "--nvtx-domain-include and --nvtx-domain-exclude cannot be used together");
    if (names_length(collect) > LONGEST_NAMES)
        return error_set(err, ERR_BAD_ARGUMENT, "the names of NVTX domains and ranges take more than %d bytes", LONGEST_NAMES);
    if (collect->run_on_exit && collect->duration_ns == 0)
        return error_set(err, ERR_BAD_ARGUMENT, "--stop-on-exit=false needs --duration, or the capture would never end");
    return 0;
}

void profile_settings_free(struct profile_settings *settings)
{
    for (size_t i = 0; i < settings->owned_count; i++)
        free(settings->owned[i]);
    text_free(&settings->warnings);
    text_free(&settings->unsupported);
}
