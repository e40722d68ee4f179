/* The options of `tacho profile`, with nsys's names and meanings, as rows: here are those of no source. The others come
 * from the sources' rows. Each subject has a file that reads its values: profile_trace.c, profile_window.c, …; the
 * others are read here. */
#include "profile_options.h"

#include <stdlib.h>
#include <string.h>

#include "cmd/cmd_source.h"
#include "export/export.h"
#include "profile_command_file.h"
#include "profile_program.h"
#include "profile_ranks.h"
#include "profile_trace.h"
#include "profile_window.h"

#define FIELD(name) offsetof(struct profile_settings, name)

static int take_buffer_limit(void *settings, const char *value, struct error *err)
{
    uint64_t bytes = option_size(value, 1024);

    if (bytes == 0)
        return error_set(err, ERR_BAD_ARGUMENT, "--buffer-limit must be a size such as 64M, not '%s'", value);
    if (bytes >> 20 < COLLECT_BUFFER_MIN_MIB || bytes >> 20 > COLLECT_BUFFER_MAX_MIB)
        return error_set(err, ERR_BAD_ARGUMENT, "--buffer-limit must be %dM to %dG, not '%s'", COLLECT_BUFFER_MIN_MIB,
                         COLLECT_BUFFER_MAX_MIB >> 10, value);
    ((struct profile_settings *)settings)->collect.buffer_limit_bytes = bytes;
    return 0;
}

static int take_cost_limit(void *settings, const char *value, struct error *err)
{
    char *end;
    double percent = strtod(value, &end);

    end += *end == '%';
    if (end == value || *end || !(percent >= 0.1 && percent <= 100))
        return error_set(err, ERR_BAD_ARGUMENT, "--cost-limit must be a percentage from 0.1 to 100, not '%s'", value);
    ((struct profile_settings *)settings)->collect.cost_limit = percent / 100;
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
    for (size_t i = 0; i < COUNT_OF(of_nsys); i++) {
        if (exporter || strcmp(of_nsys[i], name) != 0)
            continue;
        text_addf(&settings->warnings, "--export=%s has no effect: this version does not write that format\n", name);
        return 0;
    }
    if (exporter || strcmp(name, "none") == 0)
        return 0;
    return error_set(err, ERR_BAD_ARGUMENT, "unknown format '%s' for --export: 'tacho help export' lists the formats",
                     name);
}

static int take_export(void *context, const char *value, struct error *err)
{
    char **names = option_split(value, NULL);
    int code = 0;

    if (!names)
        return error_no_memory(err);
    for (char **name = names; *name; name++)
        if ((code = take_one_export(context, *name, err)) != 0)
            break;
    free(names);
    return code;
}

/* ---- the table ------------------------------------------------------------------------------------------------- */

/* clang-format off */
static const struct option first_options[] = {
    { .name = "output", .letter = 'o', .kind = OPTION_TEXT, .offset = FIELD(output), .value = "NAME",
      .help = "Write the report to NAME.tacho. %r: rank in a parallel job, %p: process ID of the program, %h: host "
              "name, %n: lowest free number, %q{VAR}: environment variable, %%: percent sign. A folder (run/) gets a "
              "report of each rank, run/rank0003.tacho. Default: report%n." },
    { .name = "ranks", .kind = OPTION_CUSTOM, .value = "LIST", .take = profile_ranks_take,
      .help = "Record these ranks of a parallel job, such as 0,8-15. The others run without tacho. Default: all." },
    { .name = "force-overwrite", .letter = 'f', .kind = OPTION_BOOL, .offset = FIELD(overwrite),
      .help = "Overwrite existing files. Default: false." },
    { .name = "redact", .kind = OPTION_BOOL, .offset = FIELD(redact),
      .help = "Store only the names of programs: no command lines, environment variables or working directory. "
              "Default: false." },
    { .name = "trace", .letter = 't', .kind = OPTION_CUSTOM, .value = "LIST", .choices = profile_trace_names,
      .take = profile_trace_take }, /* help: profile_trace_help() */
    { .name = "advise", .kind = OPTION_FLAG, .offset = FIELD(advise),
      .help = "Time every step of the program, record some of them, and a few with shapes, stacks and modules. Turns "
              "CPU sampling off unless --sample is given, or the program contains GPU code." },
    { .name = "step-probes", .kind = OPTION_BOOL, .offset = FIELD(step_probes),
      .help = "Only time a few steps of a PyTorch loop, without recording them, to measure what recording costs. "
              "Where that is more than a tenth, record operators only in an eighth of the later steps, unless "
              "--pytorch or --cost-limit is given. Default: true; false in parallel jobs and if --trace, --duration or "
              "--capture-range is given." },
    { .name = "cost-limit", .kind = OPTION_CUSTOM, .value = "PERCENT", .take = take_cost_limit,
      .help = "Keep the estimated cost of recording below PERCENT of the program's own CPU time (0.1 to 100): record "
              "less of the sources that cost most, and say in the report when and what. Default: no limit." },
    { .name = "show-output", .letter = 'w', .kind = OPTION_BOOL, .offset = FIELD(show_output),
      .help = "Show the program's output. false: hide it and store it in the report (`tacho info --output` prints it). "
              "Default: true." },
    { .name = "stop-on-exit", .letter = 'x', .kind = OPTION_BOOL, .offset = FIELD(stop_on_exit),
      .help = "End the capture when the program exits. false: continue until --duration has passed. Default: true." },
    { .name = "delay", .letter = 'y', .kind = OPTION_CUSTOM, .value = "SECONDS", .take = profile_window_take_delay,
      .help = "Start recording SECONDS after the program starts. Default: 0." },
    { .name = "duration", .letter = 'd', .kind = OPTION_CUSTOM, .value = "SECONDS",
      .take = profile_window_take_duration,
      .help = "End the capture SECONDS after recording starts. Default: 0, no limit." },
    { .name = "capture-range", .letter = 'c', .kind = OPTION_CUSTOM, .value = "WHAT",
      .words = OPTION_WORDS("none", "nvtx", "cudaProfilerApi", "api", "mpi"), .take = profile_window_take_range,
      .help = "Event that starts recording: none (the start of the program), nvtx (the range of --nvtx-capture), "
              "cudaProfilerApi or api (a call of cudaProfilerStart() or tacho_start()), mpi (a call of "
              "MPI_Pcontrol(1), until MPI_Pcontrol(0)). Default: none." },
    { .name = "capture-range-end", .kind = OPTION_CUSTOM, .value = "WHAT",
      .words = OPTION_WORDS("none", "stop", "stop-shutdown", "repeat", "repeat-shutdown:1"),
      .take = profile_window_take_range_end,
      .help = "Action at the end of the range: none (keep recording), stop (stop recording), stop-shutdown (also send "
              "--kill to the program), repeat[:N] (wait for the next range, at most N times), repeat-shutdown:N "
              "(repeat, then stop-shutdown). Default: stop-shutdown; repeat with --capture-range=mpi." },
    { .name = "nvtx-capture", .letter = 'p', .kind = OPTION_CUSTOM, .value = "RANGE[@DOMAIN]",
      .take = profile_window_take_nvtx_capture,
      .help = "NVTX range for --capture-range=nvtx; @* matches any domain. Default domain: NVTX's default one." },
    { .name = "kill", .kind = OPTION_CUSTOM, .value = "SIGNAL",
      .words = OPTION_WORDS("none", "sigint", "sigterm", "sigkill"),
      .take = profile_program_take_kill,
      .help = "Signal to send to a program that outlives the capture: none, sigint, sigterm, sigkill or a number. "
              "Default: sigterm." },
    { .name = "wait", .kind = OPTION_CUSTOM, .value = "all|primary", .words = OPTION_WORDS("all", "primary"),
      .take = profile_program_take_wait,
      .help = "Wait until all processes of the program have exited (all), or only its first (primary). Default: all." },
    { .name = "env-var", .letter = 'e', .kind = OPTION_CUSTOM, .value = "A=B,C=D",
      .take = profile_program_take_variables,
      .help = "Set environment variables for the program." },
    { .name = "inherit-environment", .letter = 'n', .kind = OPTION_BOOL, .offset = FIELD(inherit_environment),
      .help = "Pass tacho's environment to the program. false: pass only the variables of --env-var. Default: true." },
    { .name = "stats", .kind = OPTION_BOOL, .offset = FIELD(stats),
      .help = "Print the tables of `tacho stats` at the end. Default: false." },
    { .name = "export", .kind = OPTION_CUSTOM, .value = "LIST", .choices = export_names, .take = take_export,
      .help = "Also export the report, in one or more formats of `tacho export`, to files beside it. Default: none." },
    { .name = "command-file", .kind = OPTION_CUSTOM, .value = "FILE", .take = profile_command_file_take,
      .help = "Read options from FILE, quoted as in a shell; # starts a comment." },
    { 0 },
};

/* Options about the program's processes; help shows them after the sources' options. */
static const struct option process_options[] = {
    { .name = "trace-fork-before-exec", .kind = OPTION_BOOL, .offset = FIELD(trace_fork),
      .help = "Record forked child processes before they call exec. Default: true." },
    { .name = "buffer-limit", .kind = OPTION_CUSTOM, .value = "SIZE", .take = take_buffer_limit,
      .help = "Limit the memory for events of one process that are not yet written, such as 64M; events beyond it are "
              "dropped. 4M to 64G. Default: 256M, less in a small container." },
    { .name = "preload", .kind = OPTION_BOOL, .offset = FIELD(preload), .words = OPTION_WORDS("yes", "no"),
      .help = "Load the agent with LD_PRELOAD. no: only through CUDA and NVTX injection, which records no OS and "
              "library calls, and no processes that use neither CUDA nor NVTX. Default: yes." },
    { 0 },
};

/* Options that help shows last, and options that it hides. */
static const struct option last_options[] = {
    { .name = "attach", .kind = OPTION_CHOICE, .offset = FIELD(attach), .value = "caller",
      .words = OPTION_WORDS("caller", "caller-temporary"),
      .help = "Record the process that starts tacho, instead of a program. That process must load the agent itself, as "
              "the Python package does. caller-temporary: delete the report at the end." },
    { .name = "quiet", .letter = 'q', .kind = OPTION_FLAG, .offset = FIELD(quiet),
      .help = "Do not print the summary, only the name of the report if --output does not give it." },
    { .name = "pid", .kind = OPTION_CUSTOM, .value = "PID", .take = profile_program_take_pid, .hidden = 1,
      .help = "Known from perf and py-spy; refused." },
    { .name = "stop-on-range-end", .kind = OPTION_CUSTOM, .value = "BOOL",
      .take = profile_window_take_stop_on_range_end, .hidden = 1,
      .help = "Old spelling of --capture-range-end." },
#define IGNORED(option, key, why) \
    { .name = option, .letter = key, .kind = OPTION_IGNORED, .value = "VALUE", .help = why },
#include "profile_ignored.def"
#undef IGNORED
    { 0 },
};
/* clang-format on */

/* Appends a table's rows; their fields start at this offset in the settings. */
static void append(struct option *all, size_t *count, const struct option *rows, size_t offset)
{
    for (; rows && rows->name && *count < PROFILE_OPTIONS_MAX; rows++) {
        all[*count] = *rows;
        all[(*count)++].offset += offset;
    }
}

const struct option *profile_options(void)
{
    static struct option all[PROFILE_OPTIONS_MAX + 1];
    size_t count = 0;

    if (all[0].name)
        return all;
    append(all, &count, first_options, 0);
    for (const struct cmd_source *const *source = cmd_sources; *source; source++)
        append(all, &count, (*source)->options, profile_source_offset(*source));
    append(all, &count, process_options, 0);
    for (const struct cmd_source *const *source = cmd_sources; *source; source++)
        append(all, &count, (*source)->late_options, profile_source_offset(*source));
    append(all, &count, last_options, 0);
    for (size_t i = 0; i < count; i++)
        if (all[i].take == profile_trace_take)
            all[i].help = profile_trace_help();
    return all;
}

void profile_options_init(struct profile_settings *settings)
{
    *settings = (struct profile_settings){
        .options = profile_options(),
        .output = "report%n",
        .show_output = 1,
        .step_probes = -1,
        .inherit_environment = 1,
        .stop_on_exit = 1,
        .trace_fork = 1,
        .preload = 1,
    };
    for (const struct cmd_source *const *source = cmd_sources; *source; source++)
        if ((*source)->settings)
            memcpy(profile_source_settings(settings, *source), (*source)->settings, (*source)->settings_bytes);
    settings->collect.range_end = COLLECT_END_STOP_SHUTDOWN;
    settings->collect.kill_signal = collect_signal_number("sigterm");
}

/* The first error counts; warnings of all sources are kept. */
static int finish_sources(struct profile_settings *settings, struct error *err)
{
    int code = 0;

    for (const struct cmd_source *const *source = cmd_sources; *source; source++) {
        struct error own = { 0 };
        int own_code = (*source)->finish ? (*source)->finish(settings, &settings->collect, &own) : 0;
        if (code != 0 || own_code == 0)
            continue;
        code = own_code;
        *err = own;
    }
    return code;
}

int profile_options_finish(struct profile_settings *settings, struct error *err)
{
    struct collect_options *collect = &settings->collect;
    int code;

    collect->sources = profile_trace_finish(settings);
    /* With --attach, the Python package names the sources, not its user. */
    collect->requested = settings->has_sources && !settings->attach ? collect->sources : 0;
    collect->overwrite = settings->overwrite;
    collect->redact = settings->redact;
    collect->hide_output = !settings->show_output;
    collect->clean_environment = !settings->inherit_environment;
    collect->run_on_exit = !settings->stop_on_exit;
    collect->trace_fork_before_exec = settings->trace_fork;
    collect->no_preload = !settings->preload;
    collect->environment = settings->environment;
    if (settings->attach)
        collect->kill_signal = 0;
    if ((code = finish_sources(settings, err)) != 0)
        return code;
    profile_ranks_share_host(settings);
    if (collect->run_on_exit && collect->duration_ns == 0)
        return error_set(err, ERR_BAD_ARGUMENT,
                         "--stop-on-exit=false needs --duration: without it the capture would never end");
    return 0;
}
