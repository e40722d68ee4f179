/* tacho profile: runs a program, records it, and ends as the program ended.
 *
 * All that it says itself goes to stderr, so that the program's output stays what it was. */
#include "profile.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "../export/export.h"
#include "closing.h"
#include "command.h"
#include "open.h"
#include "output_name.h"
#include "stats.h"

/* One argument as a shell would need it. */
static void add_quoted(struct text *out, const char *argument)
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

struct naming {
    const char *pattern;
    struct text *path;
    unsigned number;
    int uses_number;
};

static int name_output(void *context, int pid, const char **path, struct error *err)
{
    struct naming *naming = context;
    int code = output_name_free(naming->path, naming->pattern, pid, &naming->number, &naming->uses_number, err);

    *path = text_string(naming->path);
    return code;
}

/* Runs the capture. Two captures that start at once may want the same number for their reports: the later one takes the
 * next. */
static int capture(struct profile_settings *settings, struct text *path, struct collect_result *result, struct error *err)
{
    struct naming naming = { .pattern = settings->output, .path = path, .number = 1 };
    int code;

    settings->collect.name_output = name_output;
    settings->collect.name_context = &naming;
    do {
        code = collect_run(&settings->collect, result, err);
        naming.number++;
    } while (code == ERR_EXISTS && naming.uses_number && !settings->overwrite);
    return code;
}

static void print_stats(const struct command *self, struct report *report, const char *path)
{
    const struct analysis *wanted[64];
    struct stats_style style = { .format = print_formats[0],
                                 .request = { .time = &time_unit_ns, .to_terminal = isatty(STDOUT_FILENO) } };
    struct text out = {0};
    struct error err;

    stats_defaults(wanted, sizeof wanted / sizeof wanted[0]);
    for (const struct analysis **at = wanted; *at; at++) {
        struct analysis_request request = {0};
        if (stats_print(&out, report, path, *at, &request, &style, &err) != 0)
            command_fail(self, &err);
    }
    command_write(self, &out);
    text_free(&out);
}

/* The report's path with another ending, as export names its files. */
static void write_export(const struct command *self, struct report *report, const char *path, const char *type, int overwrite)
{
    const struct exporter *exporter = exporter_find(type);
    struct text name = {0};
    struct error err;

    if (strcmp(type, "none") == 0)
        return;
    if (!exporter) {
        fprintf(stderr, "tacho %s: --export=%s has no effect: tacho export --help lists what can be written\n", self->name, type);
        return;
    }
    text_add_bytes(&name, path, strlen(path) - strlen(".tacho"));
    text_addf(&name, exporter->folder ? "_%s" : ".%s", exporter->extension);
    if (export_file(exporter, report, text_string(&name), overwrite, NULL, &err) != 0)
        command_fail(self, &err);
    text_free(&name);
}

/* Everything after the capture. None of it may change the exit status: that is the program's. */
static void conclude(const struct command *self, const struct profile_settings *settings,
                     const struct collect_result *result, const char *path)
{
    struct report *report = NULL;
    struct error err = {0};
    struct text out = {0};

    if (report_open(path, &report, &err) != 0)
        command_fail(self, &err);
    if (report && settings->stats)
        print_stats(self, report, path);
    for (size_t i = 0; report && i < settings->exports.count; i++)
        write_export(self, report, path, settings->exports.values[i], settings->overwrite);
    if (!settings->quiet) {
        struct closing closing = { .result = result, .report = report, .report_path = path, .program = settings->collect.argv[0],
                                   .colours = isatty(STDERR_FILENO) && !getenv("NO_COLOR") };
        closing_add(&out, &closing);
        fwrite(text_string(&out), 1, out.length, stderr);
        text_free(&out);
    }
    if (report)
        report_close(report);
}

/* Ends the way the program did, so that whoever waits for us sees the same. The first process of a container cannot be
 * killed by its own signals. */
static int end_like(const struct collect_result *result)
{
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

static int run_program(const struct command *self, struct profile_settings *settings, struct text *path)
{
    struct collect_result result = {0};
    struct error err = {0};
    int status;

    int code = capture(settings, path, &result, &err);
    if (code != 0) {
        status = command_fail(self, &err);
        if (result.ending == COLLECT_NOT_STARTED && result.start_errno)
            status = result.exit_status;
    } else {
        conclude(self, settings, &result, text_string(path));
        fflush(NULL);
        status = end_like(&result);
    }
    collect_result_free(&result);
    return status;
}

static int run(const struct command *self, int argc, char **argv)
{
    struct profile_settings *settings = malloc(sizeof *settings);
    struct text command_line = {0}, path = {0};
    struct error err = {0};
    const char *program[argc + 1];
    size_t count = 0;
    int status = EXIT_OK;

    if (!settings)
        return EXIT_FAILED;
    profile_settings_init(settings);
    if (command_options(self, argc, argv, settings, program, &count, &status)) {
        program[count] = NULL;
        text_add(&command_line, "tacho");
        for (int i = 0; i < argc; i++) {
            text_add_char(&command_line, ' ');
            add_quoted(&command_line, argv[i]);
        }
        settings->collect.argv = (char *const *)program;
        settings->collect.command_line = text_string(&command_line);
        print_warnings(self, &settings->warnings);
        if (count == 0)
            error_set(&err, ERR_BAD_ARGUMENT, "name a program: tacho profile PROGRAM …");
        else
            profile_settings_finish(settings, &err);
        status = err.code ? command_fail(self, &err) : run_program(self, settings, &path);
    }
    profile_settings_free(settings);
    free(settings);
    text_free(&command_line);
    text_free(&path);
    return status;
}

const struct command command_profile = {
    .name = "profile", .arguments = "PROGRAM …", .summary = "run a program and record what it does in time",
    .about = "Runs PROGRAM with its arguments, follows every process that it starts, writes a report and ends with the program's own exit "
             "status. The program's input, output and signals are its own. Ctrl-C ends the capture in good order.",
    .options = profile_options, .takes_program = 1, .run = run,
};
