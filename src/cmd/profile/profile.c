/* tacho profile: runs a program, records it, and ends as the program ended.
 *
 * Its own messages go to stderr, so that the program's output stays unchanged. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "analyze/registry.h"
#include "cmd/cmd_source.h"
#include "cmd/command.h"
#include "cmd/keep_partials.h"
#include "cmd/open_report.h"
#include "cmd/print/display.h"
#include "cmd/print/print.h"
#include "cmd/run_reports.h"
#include "cmd/summary/summary_lines.h"
#include "export/export.h"
#include "output_name.h"
#include "profile_launchers.h"
#include "profile_options.h"
#include "profile_program.h"
#include "profile_ranks.h"
#include "profile_run.h"

/* One argument as a shell would need it. */
static void profile_add_quoted(struct text *out, const char *argument)
{
    static const char safe[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=./:,@%";

    if (*argument && strspn(argument, safe) == strlen(argument)) {
        text_add(out, argument);
        return;
    }
    text_add_char(out, '\'');
    for (; *argument; argument++) {
        if (*argument == '\'')
            text_add(out, "'\\''");
        else
            text_add_char(out, *argument);
    }
    text_add_char(out, '\'');
}

static void print_warnings(const struct command *self, const struct text *warnings)
{
    for (const char *line = text_string(warnings); *line;) {
        size_t length = strcspn(line, "\n");
        fprintf(stderr, "tacho %s: %.*s\n", self->name, (int)length, line);
        line += length + (line[length] == '\n');
    }
}

static void profile_tell(void *context, const char *sentence)
{
    struct text out = { 0 };

    text_add(&out, "tacho: ");
    display_add(&out, sentence, strlen(sentence), 0);
    text_add_char(&out, '\n');
    fwrite(text_string(&out), 1, out.length, stderr);
    text_free(&out);
}

/* Prints what the caller needs to load the agent, a line each. */
static void profile_announce(void *context, const char *session, const char *agent_path)
{
    printf("%s\n%s\n", session, agent_path);
    fflush(stdout);
}

struct profile_naming {
    const struct profile_settings *settings;
    struct text *path;
    struct output_naming output;
};

/* The report's path with another ending, as export names its files. */
static void add_export_name(struct text *name, const char *path, const struct exporter *exporter)
{
    text_add_bytes(name, path, strlen(path) - strlen(".tacho"));
    text_addf(name, exporter->folder ? "_%s" : ".%s", exporter->extension);
}

/* The files of --export must not exist either: the user learns that now, not after the run. */
static int check_exports(const struct profile_settings *settings, const char *path, struct error *err)
{
    for (size_t i = 0; i < settings->exports.count && !settings->overwrite; i++) {
        struct text name = { 0 };
        add_export_name(&name, path, exporter_find(settings->exports.values[i]));
        if (access(text_string(&name), F_OK) == 0)
            error_set(err, ERR_EXISTS, "'%.400s' exists already: choose another name, or overwrite it with -f true",
                      text_string(&name));
        text_free(&name);
    }
    return err->code;
}

/* The report of a rank that is there already may be all that is left of an earlier job. */
static int check_rank(const struct profile_naming *naming, const char *path, struct error *err)
{
    if (!naming->output.is_rank || naming->settings->overwrite || access(path, F_OK) != 0)
        return 0;
    return error_set(err, ERR_EXISTS,
                     "'%.400s' exists already, from another job or an earlier start of rank %lld: name another folder, "
                     "or overwrite it with -f true",
                     path, (long long)naming->settings->place.rank);
}

static int name_output(void *context, int pid, const char **path, struct error *err)
{
    struct profile_naming *naming = context;

    naming->output.pid = pid;
    if (output_name_free(naming->path, &naming->output, err) != 0)
        return err->code;
    *path = text_string(naming->path);
    if (naming->output.needs_folder && output_make_folder(*path, err) != 0)
        return err->code;
    return check_rank(naming, *path, err) != 0 ? err->code : check_exports(naming->settings, *path, err);
}

/* Runs the capture. Two captures that start at once may want the same number for their reports: the later one takes the
 * next. */
static int capture(struct profile_settings *settings, struct text *path, struct collect_result *result,
                   struct error *err)
{
    struct profile_naming naming = { .settings = settings,
                                     .path = path,
                                     .output = {
                                         .pattern = settings->output, .place = &settings->place, .number = 1 } };
    int code;

    settings->collect.name_output = name_output;
    settings->collect.name_context = &naming;
    do {
        err->code = 0;
        code = collect_run(&settings->collect, result, err);
        naming.output.number++;
    } while (code == ERR_EXISTS && naming.output.uses_number && !settings->overwrite);
    if (naming.output.is_rank && settings->place.world_size != 1)
        settings->quiet = 1; /* a summary of each rank would bury the program's own output */
    return code;
}

/* Writes the exports; adds the names of those that succeeded, which the caller frees. */
static size_t write_exports(const struct command *self, const struct profile_settings *settings, struct report *report,
                            const char *path, struct text *names)
{
    size_t written = 0;

    for (size_t i = 0; i < settings->exports.count; i++) {
        const struct exporter *exporter = exporter_find(settings->exports.values[i]);
        struct text name = { 0 };
        struct error err = { 0 };
        add_export_name(&name, path, exporter);
        if (export_file(exporter, report, text_string(&name), settings->overwrite, NULL, &err) == 0) {
            names[written++] = name;
        } else {
            command_fail(self, &err);
            text_free(&name);
        }
    }
    return written;
}

/* Whether the report has the name that the user gave it. */
static int is_as_named(const char *path, const char *output)
{
    size_t length = strlen(output);

    return strncmp(path, output, length) == 0 && (!path[length] || strcmp(path + length, ".tacho") == 0);
}

/* Prints the report's name if the user did not choose it: without it, and without the summary, a user may well open the
 * report of an earlier capture. */
static void tell_name(const struct profile_settings *settings, const char *path)
{
    struct text name = { 0 };

    if (settings->attach || is_as_named(path, settings->output))
        return;
    display_add(&name, path, strlen(path), 0);
    fprintf(stderr, "tacho: report: %s\n", text_string(&name));
    text_free(&name);
}

/* Everything after the capture. None of it may change the exit status: that is the program's. */
static void conclude(const struct command *self, struct profile_settings *settings, const struct collect_result *result,
                     const char *path)
{
    struct report *report = NULL;
    struct error err = { 0 };
    struct text out = { 0 }, names[PROFILE_EXPORTS_MAX];
    const char *exports[PROFILE_EXPORTS_MAX];
    size_t export_count = 0;

    if (report_open(path, &report, &err) != 0)
        command_fail(self, &err);
    if (report && settings->stats && run_reports_defaults(report, path, &err) != 0)
        command_fail(self, &err);
    if (report)
        export_count = write_exports(self, settings, report, path, names);
    for (size_t i = 0; i < export_count; i++)
        exports[i] = text_string(&names[i]);
    if (report && !settings->quiet) {
        struct summary_request request = {
            .report = report,
            .report_path = path,
            .report_bytes = result->report_bytes,
            .report_error = result->report_error,
            .warnings = result->warnings,
            .warning_count = result->warning_count,
            .finish_ns = result->finish_ns,
            .exports = exports,
            .export_count = export_count,
            .colours = isatty(STDERR_FILENO) && !getenv("NO_COLOR"),
            .columns = print_terminal_columns(STDERR_FILENO),
        };
        if (summary_add(&out, &request, &err) != 0)
            command_fail(self, &err);
        fwrite(text_string(&out), 1, out.length, stderr);
        text_free(&out);
    } else if (report) {
        tell_name(settings, path);
    }
    for (size_t i = 0; i < export_count; i++)
        text_free(&names[i]);
    if (report && settings->place.launcher && settings->place.world_size != 1)
        keep_partials(path, report, &err); /* a report without them is slower to read with others, that is all */
    if (report)
        report_close(report);
}

/* Ends the way the program did, so that whoever waits for us sees the same. The first process of a container cannot be
 * killed by its own signals. */
static int end_like(const struct collect_result *result)
{
    if (result->kill_sent && result->over != COLLECT_OVER_PROGRAM && !result->interrupted)
        return EXIT_OK; /* it ended because the capture did, which is what was asked for */
    if (result->ending == COLLECT_SIGNALLED && getpid() != 1) {
        sigset_t only;
        setrlimit(RLIMIT_CORE, &(struct rlimit){ 0, 0 });
        signal(result->signal, SIG_DFL);
        sigemptyset(&only);
        sigaddset(&only, result->signal);
        sigprocmask(SIG_UNBLOCK, &only, NULL);
        raise(result->signal);
    }
    return result->exit_status;
}

/* `-w maybe sleep 1` takes maybe for the program: say so. */
static void explain_operand(const struct command *self, int argc, char **argv, const char *program)
{
    for (int i = 1; i < argc; i++) {
        if (argv[i] != program || argv[i - 1][0] != '-' || strchr(argv[i - 1], '=') || strcmp(argv[i - 1], "--") == 0)
            continue;
        fprintf(stderr, "tacho %s: '", self->name);
        struct text word = { 0 };
        display_add(&word, program, strlen(program), 60);
        fprintf(stderr, "%s' was taken as the program: %s takes no value, or true or false\n", text_string(&word),
                argv[i - 1]);
        text_free(&word);
    }
}

/* The caller would, but may have been killed. The folder stays if there is anything else in it. */
static void remove_with_folder(const char *path)
{
    struct text folder = { 0 };
    const char *slash = strrchr(path, '/');

    unlink(path);
    if (slash && slash > path) {
        text_add_bytes(&folder, path, (size_t)(slash - path));
        rmdir(text_string(&folder));
    }
    text_free(&folder);
}

static int profile_run_program(const struct command *self, struct profile_settings *settings,
                               const struct profile_follower *then, struct text *path, int *found)
{
    struct collect_result result = { 0 };
    struct error err = { 0 };
    int status;

    int code = capture(settings, path, &result, &err);
    if (code != 0) {
        status = command_fail(self, &err);
        if (result.ending == COLLECT_NOT_STARTED && result.start_errno)
            status = result.exit_status;
        *found = code != ERR_NOT_FOUND;
    } else {
        conclude(self, settings, &result, text_string(path));
        if (then)
            then->take_report(then->context, &result, text_string(path));
        if (settings->attach && strcmp(settings->attach, "caller-temporary") == 0)
            remove_with_folder(text_string(path));
        fflush(NULL);
        status = end_like(&result);
    }
    collect_result_free(&result);
    return status;
}

/* Checks that what was asked for makes sense, and completes the settings. *is_recorded: 0 if --ranks leaves this
 * process out. */
static int check_settings(struct profile_settings *settings, const char *const *program, int *is_recorded,
                          struct error *err)
{
    *is_recorded = 1;
    if (program[0] && settings->attach)
        return error_set(err, ERR_BAD_ARGUMENT,
                         "--attach=caller takes no program: it records the process that starts tacho");
    if (!program[0] && !settings->attach)
        return profile_program_lacking(settings, err);
    if (profile_ranks_find(settings, is_recorded, err) != 0 || !*is_recorded)
        return err->code;
    if (program[0])
        profile_launchers_check(program, &settings->warnings);
    return profile_options_finish(settings, err);
}

/* Everything after the options. */
static int run_settings(const struct command *self, struct profile_settings *settings, const char *const *program,
                        const struct profile_follower *then, int *found)
{
    struct text path = { 0 };
    struct error err = { 0 };
    int is_recorded, status;

    if (settings->attach) {
        settings->collect.announce = profile_announce;
        settings->quiet = 1;
    }
    if (!settings->quiet)
        settings->collect.tell = profile_tell;
    int code = check_settings(settings, program, &is_recorded, &err);
    if (is_recorded)
        print_warnings(self, &settings->warnings);
    if (code != 0)
        return command_fail(self, &err);
    if (is_recorded) {
        status = profile_run_program(self, settings, then, &path, found);
        text_free(&path);
    } else {
        status = profile_ranks_run_bare(settings, &err);
        command_fail(self, &err);
    }
    return status;
}

int profile_run(const struct command *self, int argc, char **argv, const struct profile_follower *then)
{
    struct profile_settings *settings = malloc(sizeof *settings);
    struct text command_line = { 0 }, list = { 0 };
    const char *program[argc + 1];
    size_t count = 0;
    int status = EXIT_OK, found = 1;

    if (!settings)
        return EXIT_FAILED;
    profile_options_init(settings);
    if (command_options(self, argc, argv, settings, program, &count, &status)) {
        program[count] = NULL;
        text_add(&command_line, "tacho");
        for (int i = 0; i < argc; i++) {
            text_add_char(&command_line, ' ');
            profile_add_quoted(&command_line, argv[i]);
        }
        settings->collect.argv = (char *const *)program;
        settings->collect.command_line = text_string(&command_line);
        for (const struct cmd_source *const *source = cmd_sources; *source; source++)
            if ((*source)->list_values)
                (*source)->list_values(settings, &list);
        if (list.length)
            fputs(text_string(&list), stdout);
        else
            status = run_settings(self, settings, program, then, &found);
        if (!found)
            explain_operand(self, argc, argv, program[0]);
    }
    profile_settings_free(settings);
    free(settings);
    text_free(&command_line);
    text_free(&list);
    return status;
}

static int profile_run_command(const struct command *self, int argc, char **argv)
{
    return profile_run(self, argc, argv, NULL);
}

static const struct entry profile_examples[] = {
    { "tacho profile python train.py",
      "Record CUDA, NVTX, OS calls, PyTorch operators and CPU samples; print a summary." },
    { "tacho profile -o run/ -t cuda,nvtx,nccl ./solver input",
      "Behind mpirun, srun or torchrun: write a report of each rank to a folder. Record calls into NCCL too." },
    { "tacho profile -y 30 -d 10 ./server", "Record ten seconds, half a minute after the start." },
    { "tacho profile -c nvtx -p step --capture-range-end=repeat:3 ./server",
      "Record the NVTX range 'step' three times." },
    { "tacho profile -s none -t osrt --osrt-threshold=0 ./program",
      "Record every OS call, however short, and no CPU samples." },
    { 0 },
};

static const struct entry profile_exits[] = {
    { "N", "The exit status of PROGRAM. A signal that ends PROGRAM ends tacho too." },
    { "0", "The capture ended before PROGRAM: the duration or the capture range was over." },
    { "1", "The report cannot be written; PROGRAM is not started." },
    { "2", "The command line is wrong; PROGRAM is not started." },
    { "126", "PROGRAM cannot be executed." },
    { "127", "PROGRAM is not found." },
    { "128+N", "Signal N ended PROGRAM, and tacho is the first process of a container." },
    { 0 },
};

const struct command command_profile = {
    .name = "profile",
    .arguments = "PROGRAM …",
    .summary = "Run a program and record what it does over time",
    .about = "Run PROGRAM with its arguments, record it and every process that it starts, and write a report. The "
             "program keeps its input, output and signals, and tacho exits with the program's exit status. Ctrl-C ends "
             "the capture and completes the report.",
    .examples = profile_examples,
    .exits = profile_exits,
    .make_options = profile_options,
    .variables = "ACC_PROFLIB,CUDA_HOME,CUDA_VISIBLE_DEVICES,NCCL_PROFILER_PLUGIN,TACHO_AGENT,"
                 "TACHO_CUPTI," COMMAND_GPU_VARIABLES,
    .takes_program = 1,
    .run = profile_run_command,
};
