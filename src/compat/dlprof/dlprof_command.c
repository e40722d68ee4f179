/* tacho dlprof: DLProf's command line and reports, for a program that it runs or for any file that Tacho reads. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analyze/engine/row_cursor.h"
#include "analyze/model/timed_steps.h"
#include "cmd/command.h"
#include "cmd/open_report.h"
#include "cmd/output.h"
#include "dlprof_program.h"
#include "dlprof_write.h"

enum { MOST_REPORTS = 16 };

struct dlprof_cmd_settings {
    int force, version, model_data, no_events, by_profiler_api;
    const char *verbosity, *mode;
    const char *database, *base_name, *nsys_options, *delay, *duration;
    const char *key_op, *key_node, *first, *last;
    const char *output_path, *profile_name, *reports, *formats, *domains, *tb_dir;
};

/* ---- options --------------------------------------------------------------------------------------------------- */

static const char *const verbosities[] = { "quiet", "minimal", "normal", "detailed", "diagnostic", NULL };

static const char *const *dlprof_cmd_report_names(void)
{
    static const char *names[MOST_REPORTS] = { "all" };

    for (size_t i = 0; dlprof_reports[i].option && i + 2 < MOST_REPORTS; i++)
        names[i + 1] = dlprof_reports[i].option;
    return names;
}

static int refuse_database(void *settings, const char *value, struct error *err)
{
    return error_set(err, ERR_BAD_ARGUMENT,
                     "--database: Tacho has no database of DLProf's viewer; give the capture with --nsys_database, and "
                     "look at it with 'tacho view'");
}

static int refuse_graph(void *settings, const char *value, struct error *err)
{
    return error_set(err, ERR_BAD_ARGUMENT,
                     "--graphdef: Tacho reads no graphs of TensorFlow; leave it out, or use --mode=simple");
}

#define FIELD(name) offsetof(struct dlprof_cmd_settings, name)
/* clang-format off */
static const struct option dlprof_cmd_options[] = {
    { .name = "version", .letter = 'V', .kind = OPTION_FLAG, .offset = FIELD(version),
      .help = "Print the version." },
    { .name = "force", .letter = 'f', .kind = OPTION_BOOL, .offset = FIELD(force),
      .help = "Overwrite existing files. Default: false." },
    { .name = "verbosity", .letter = 'v', .kind = OPTION_CHOICE, .offset = FIELD(verbosity), .value = "LEVEL",
      .words = verbosities,
      .help = "quiet, minimal, normal (list the files written), detailed or diagnostic (also what the capture holds). "
              "Default: normal." },
    { .name = "mode", .letter = 'm', .kind = OPTION_CHOICE, .offset = FIELD(mode), .value = "MODE",
      .words = OPTION_WORDS("simple", "pytorch"),
      .help = "pytorch, or simple: the whole program is one operator. Default: pytorch." },
    { .name = "nsys_database", .kind = OPTION_TEXT, .offset = FIELD(database), .value = "FILE",
      .help = "Read FILE, and run no program: an SQLite export of nsys, a .tacho report or a trace of "
              "torch.profiler." },
    { .name = "nsys_base_name", .kind = OPTION_TEXT, .offset = FIELD(base_name), .value = "NAME",
      .help = "Write the capture of the program to NAME.tacho. Default: nsys_profile." },
    { .name = "nsys_opts", .kind = OPTION_TEXT, .offset = FIELD(nsys_options), .value = "\"OPTIONS\"",
      .help = "Options for `tacho profile`, which are those of nsys. Default: \"-t cuda,nvtx -s none\"." },
    { .name = "nsys_profile_range", .kind = OPTION_BOOL, .offset = FIELD(by_profiler_api),
      .help = "Record from cudaProfilerStart() to cudaProfilerStop(). Default: false." },
    { .name = "delay", .letter = 'y', .kind = OPTION_TEXT, .offset = FIELD(delay), .value = "SECONDS",
      .help = "Start recording SECONDS after the program starts. Default: 0." },
    { .name = "duration", .letter = 'd', .kind = OPTION_TEXT, .offset = FIELD(duration), .value = "SECONDS",
      .help = "Record for SECONDS; 0: until the program ends. Default: 0." },
    { .name = "key_node", .kind = OPTION_TEXT, .offset = FIELD(key_node), .value = "NAME",
      .help = "The same as --key_op." },
    { .name = "key_op", .kind = OPTION_TEXT, .offset = FIELD(key_op), .value = "NAME",
      .help = "Name, type or Op ID of an operator: each of its calls ends an iteration. Default: the steps that "
              "Tacho finds, and none in captures with the markers of DLProf or PyProf." },
    { .name = "iter_start", .kind = OPTION_TEXT, .offset = FIELD(first), .value = "N",
      .help = "First iteration to aggregate. Default: 0." },
    { .name = "iter_stop", .kind = OPTION_TEXT, .offset = FIELD(last), .value = "N",
      .help = "Last iteration to aggregate. Default: the last one." },
    { .name = "output_path", .kind = OPTION_TEXT, .offset = FIELD(output_path), .value = "FOLDER",
      .help = "Write all files into FOLDER. Default: '.'." },
    { .name = "profile_name", .kind = OPTION_TEXT, .offset = FIELD(profile_name), .value = "NAME",
      .help = "Start of the names of all reports. Default: dlprof." },
    { .name = "reports", .kind = OPTION_TEXT, .offset = FIELD(reports), .value = "LIST",
      .choices = dlprof_cmd_report_names,
      .help = "Reports to write: all, or any of summary, detail, kernel, iteration, tensor, op_type, group_op "
              "(group_node), expert_systems. Default: none." },
    { .name = "formats", .kind = OPTION_TEXT, .offset = FIELD(formats), .value = "LIST",
      .words = OPTION_WORDS("csv", "json"), .help = "csv, json or both. Default: csv." },
    { .name = "domains", .kind = OPTION_TEXT, .offset = FIELD(domains), .value = "LIST",
      .help = "NVTX domains whose ranges are the operators; each has reports of its own. Default: the operators of "
              "PyTorch." },
    { .name = "dump_model_data", .kind = OPTION_BOOL, .offset = FIELD(model_data),
      .help = "Write all calls of operators to NAME_model_data.json. Default: false." },
    { .name = "tb_dir", .kind = OPTION_TEXT, .offset = FIELD(tb_dir), .value = "FOLDER",
      .help = "Folder, below --output_path, for TensorBoard's events. Default: event_files." },
    { .name = "suppress_tb_files", .letter = 'b', .kind = OPTION_BOOL, .offset = FIELD(no_events),
      .help = "Write no events for TensorBoard. Default: false." },
    { .name = "database", .kind = OPTION_CUSTOM, .value = "FILE", .take = refuse_database,
      .help = "Refused: there is no database for DLProf's viewer. Use --nsys_database, and look at it with "
              "`tacho view`." },
    { .name = "graphdef", .kind = OPTION_CUSTOM, .value = "FILE", .take = refuse_graph,
      .help = "Refused: graphs of TensorFlow are not read." },
    { 0 },
};
/* clang-format on */

static int dlprof_cmd_parse_number(const char *option, const char *value, int64_t otherwise, int64_t *out,
                                   struct error *err)
{
    char *end;

    *out = otherwise;
    if (!value)
        return 0;
    errno = 0;
    *out = strtoll(value, &end, 10);
    if (end == value || *end || errno || *out < 0)
        return error_set(err, ERR_BAD_ARGUMENT, "--%s takes the number of an iteration, not '%s'", option, value);
    return 0;
}

/* ---- files ----------------------------------------------------------------------------------------------------- */

struct dlprof_cmd_job {
    const struct command *self;
    const struct dlprof_cmd_settings *settings;
    struct dlprof_request request;
    int reports, formats; /* a bit for each of dlprof_reports and dlprof_formats */
};

static int says(const struct dlprof_cmd_job *job, const char *level)
{
    size_t asked = 0, wanted = 0;

    while (strcmp(verbosities[asked], job->settings->verbosity) != 0)
        asked++;
    while (strcmp(verbosities[wanted], level) != 0)
        wanted++;
    return asked >= wanted;
}

static int dlprof_cmd_write_file(const struct dlprof_cmd_job *job, const char *path, const struct text *text,
                                 struct error *err)
{
    int code;

    if (text_failed(text))
        return error_no_memory(err);
    if ((code = output_write_file(path, job->settings->force, "force", text, err)) != 0)
        return code;
    if (says(job, "normal"))
        fprintf(stderr, "tacho dlprof: wrote %s\n", path);
    return 0;
}

/* OUTPUT/NAME_WHAT.EXTENSION, or OUTPUT/NAME_DOMAIN_WHAT.EXTENSION. Slashes of a domain become dashes. */
static void dlprof_cmd_add_path(struct text *out, const struct dlprof_cmd_job *job, const char *what,
                                const char *extension)
{
    text_addf(out, "%s/%s_", job->settings->output_path, job->settings->profile_name);
    for (const char *c = job->request.domain; c && *c; c++)
        text_add_char(out, *c == '/' ? '-' : *c);
    text_addf(out, "%s%s.%s", job->request.domain ? "_" : "", what, extension);
}

static int dlprof_cmd_write_report(const struct dlprof_cmd_job *job, struct dlprof *dlprof,
                                   const struct dlprof_report *report, struct error *err)
{
    const struct command_origin *origin = command_origin();
    const struct dlprof_maker maker = { "Tacho " TACHO_VERSION, origin->commit };
    struct dlprof_tables tables;
    struct text text = { 0 }, path = { 0 };
    int code = report->run(dlprof, &maker, &tables, err);

    if (code != 0)
        return code;
    for (size_t i = 0; dlprof_formats[i].name; i++) {
        if (!(job->formats >> i & 1))
            continue;
        text_clear(&text);
        text_clear(&path);
        dlprof_formats[i].add(&text, &tables);
        dlprof_cmd_add_path(&path, job, report->file, dlprof_formats[i].name);
        if ((code = dlprof_cmd_write_file(job, text_string(&path), &text, err)) != 0)
            break;
    }
    text_free(&text);
    text_free(&path);
    dlprof_tables_free(&tables);
    return code;
}

static int write_model_data(const struct dlprof_cmd_job *job, struct dlprof *dlprof, struct error *err)
{
    struct text text = { 0 }, path = { 0 };
    struct table *table;
    int code = dlprof_model_data(dlprof, &table, err);

    if (code != 0)
        return code;
    dlprof_add_json(&text, table);
    dlprof_cmd_add_path(&path, job, "model_data", "json");
    code = dlprof_cmd_write_file(job, text_string(&path), &text, err);
    text_free(&text);
    text_free(&path);
    table_delete(table);
    return code;
}

/* ns since 1970, or 0. */
static int64_t capture_start(struct report *report)
{
    static const char *const names[] = { "utcEpochNs", NULL };
    struct row_cursor rows;
    int64_t start_ns = 0;

    if (row_cursor_open(&rows, report, "TARGET_INFO_SESSION_START_TIME", names, NULL) != 0)
        return 0;
    if (row_cursor_next(&rows))
        start_ns = row_int_or(&rows, 0, 0);
    row_cursor_close(&rows);
    return start_ns;
}

static int dlprof_cmd_make_folder(const char *path, struct error *err)
{
    if (mkdir(path, 0777) != 0 && errno != EEXIST)
        return error_set_errno(err, "cannot create the folder '%s'", path);
    return 0;
}

/* The file is named after the capture's start, so that TensorBoard does not show a capture twice. */
static int write_events(const struct dlprof_cmd_job *job, struct dlprof *dlprof, struct error *err)
{
    int64_t start_ns = capture_start(dlprof->report);
    struct text text = { 0 }, path = { 0 };
    int code;

    text_addf(&path, "%s/%s", job->settings->output_path, job->settings->tb_dir);
    if ((code = dlprof_cmd_make_folder(text_string(&path), err)) != 0 ||
        (code = dlprof_add_events(&text, dlprof, (double)start_ns / 1e9, err)) != 0)
        goto free_texts;
    text_addf(&path, "/events.out.tfevents.%lld.", (long long)(start_ns / 1000000000));
    text_add(&path, job->settings->profile_name);
    text_addf(&path, "%s%s", job->request.domain ? "." : "", job->request.domain ? job->request.domain : "");
    code = dlprof_cmd_write_file(job, text_string(&path), &text, err);
free_texts:
    text_free(&text);
    text_free(&path);
    return code;
}

/* ---- the command ----------------------------------------------------------------------------------------------- */

static int write_all_files(const struct dlprof_cmd_job *job, struct report *report, struct error *err)
{
    struct dlprof dlprof;
    int code = dlprof_read(&dlprof, report, &job->request, err);

    if (code != 0)
        return code;
    if (says(job, "detailed"))
        fprintf(stderr, "tacho dlprof: %zu operators, %zu calls of them and %zu operations on GPUs in %zu of %zu %s\n",
                dlprof.op_count, dlprof.call_count, dlprof.work_count, dlprof.last - dlprof.first + 1,
                dlprof.iteration_count, dlprof.iteration_count == 1 ? "iteration" : "iterations");
    for (size_t i = 0; dlprof_reports[i].option; i++)
        if (job->reports >> i & 1 && (code = dlprof_cmd_write_report(job, &dlprof, &dlprof_reports[i], err)) != 0)
            goto free_dlprof;
    if (job->settings->model_data && (code = write_model_data(job, &dlprof, err)) != 0)
        goto free_dlprof;
    if (!job->settings->no_events)
        code = write_events(job, &dlprof, err);
free_dlprof:
    dlprof_free(&dlprof);
    return code;
}

/* DLProf's reports know no time in which nothing was recorded. */
static int warn_of_pauses(const struct dlprof_cmd_job *job, struct report *report, struct error *err)
{
    struct step_pauses pauses = { 0 };
    int code = step_pauses_read(&pauses, report, err);

    if (pauses.count && says(job, "normal"))
        fputs("tacho dlprof: some steps were only timed and count as idle here: for right figures record the program "
              "with --step-probes=false, without --advise\n",
              stderr);
    step_pauses_free(&pauses);
    return code;
}

static int read_file(struct dlprof_cmd_job *job, const char *path, struct error *err)
{
    struct report *report;
    size_t count = 0;
    char **domains = job->settings->domains ? option_split(job->settings->domains, &count) : NULL;
    int code = open_report(path, &report, err);

    if (code != 0)
        goto free_domains;
    if ((code = warn_of_pauses(job, report, err)) != 0)
        goto close_report;
    if (!count)
        code = write_all_files(job, report, err);
    for (size_t i = 0; i < count; i++) {
        job->request.domain = domains[i];
        if ((code = write_all_files(job, report, err)) != 0)
            break;
    }
close_report:
    close_report(report, path);
free_domains:
    free(domains);
    return code;
}

static int dlprof_cmd_choose_report(struct dlprof_cmd_job *job, const char *name, struct error *err)
{
    int chosen = 0;

    for (size_t i = 0; dlprof_reports[i].option; i++) {
        const struct dlprof_report *report = &dlprof_reports[i];
        if (strcmp(name, "all") == 0 || strcmp(name, report->option) == 0 ||
            (report->alias && strcmp(name, report->alias) == 0))
            chosen |= 1 << i;
    }
    job->reports |= chosen;
    if (chosen)
        return 0;
    return error_set(err, ERR_BAD_ARGUMENT,
                     "unknown report '%s' for --reports: use all, or any of summary, detail, kernel, iteration, "
                     "tensor, op_type, group_op, expert_systems",
                     name);
}

static int choose_format(struct dlprof_cmd_job *job, const char *name, struct error *err)
{
    for (size_t i = 0; dlprof_formats[i].name; i++)
        if (strcmp(name, dlprof_formats[i].name) == 0) {
            job->formats |= 1 << i;
            return 0;
        }
    return error_set(err, ERR_BAD_ARGUMENT, "unknown format '%s' for --formats: use csv, json or csv,json", name);
}

/* Each name of a list. */
static int dlprof_cmd_choose(struct dlprof_cmd_job *job, const char *list,
                             int (*take)(struct dlprof_cmd_job *, const char *, struct error *), struct error *err)
{
    size_t count = 0;
    char **names = list ? option_split(list, &count) : NULL;
    int code = 0;

    for (size_t i = 0; i < count; i++)
        if ((code = take(job, names[i], err)) != 0)
            break;
    free(names);
    return code;
}

static int dlprof_cmd_take_settings(struct dlprof_cmd_job *job, struct error *err)
{
    const struct dlprof_cmd_settings *settings = job->settings;

    job->request.is_simple = strcmp(settings->mode, "simple") == 0;
    job->request.key_op = settings->key_op && *settings->key_op ? settings->key_op : settings->key_node;
    if (dlprof_cmd_parse_number("iter_start", settings->first, 0, &job->request.first, err) != 0 ||
        dlprof_cmd_parse_number("iter_stop", settings->last, -1, &job->request.last, err) != 0 ||
        dlprof_cmd_choose(job, settings->reports, dlprof_cmd_choose_report, err) != 0)
        return err->code;
    return dlprof_cmd_choose(job, settings->formats ? settings->formats : "csv", choose_format, err);
}

/* Runs the program and reads the capture; the exit status is the program's if all went well. */
static int dlprof_cmd_run_program(struct dlprof_cmd_job *job, const char *const *program)
{
    const struct dlprof_cmd_settings *settings = job->settings;
    struct text path = { 0 };
    struct error err = { 0 };
    int status;

    text_addf(&path, "%s/%s", settings->output_path, settings->base_name);
    const struct dlprof_program recorded = {
        .argv = program,
        .report = text_string(&path),
        .options = settings->nsys_options,
        .delay = settings->delay,
        .duration = settings->duration && strcmp(settings->duration, "0") != 0 ? settings->duration : NULL,
        .overwrite = settings->force,
        .is_simple = job->request.is_simple,
        .by_profiler_api = settings->by_profiler_api,
        .is_quiet = !says(job, "detailed"),
    };
    status = dlprof_profile(&recorded);
    text_add(&path, ".tacho");
    if (status < 0 || text_failed(&path) || access(text_string(&path), R_OK) != 0)
        status = status > 0 ? status : EXIT_FAILED;
    else if (read_file(job, text_string(&path), &err) != 0)
        status = command_fail(job->self, &err);
    text_free(&path);
    return status;
}

static int dlprof_cmd_run(const struct command *self, int argc, char **argv)
{
    struct dlprof_cmd_settings settings = { .verbosity = "normal",
                                            .mode = "pytorch",
                                            .base_name = "nsys_profile",
                                            .output_path = ".",
                                            .profile_name = "dlprof",
                                            .tb_dir = "event_files" };
    struct dlprof_cmd_job job = { .self = self, .settings = &settings };
    struct error err = { 0 };
    const char *program[argc + 1];
    size_t count;
    int status;

    if (!command_options(self, argc, argv, &settings, program, &count, &status))
        return status;
    program[count] = NULL;
    if (settings.version) {
        const struct text line = { .bytes = (char *)"Tacho " TACHO_VERSION " (reports of DLProf 1.8.0)\n",
                                   .length = sizeof "Tacho " TACHO_VERSION " (reports of DLProf 1.8.0)\n" - 1 };
        return command_write(self, &line);
    }
    if (!settings.database && count == 0)
        error_set(&err, ERR_BAD_ARGUMENT, "takes a program to run, or a file with --nsys_database=FILE");
    else if (dlprof_cmd_take_settings(&job, &err) == 0)
        dlprof_cmd_make_folder(settings.output_path, &err);
    if (err.code)
        return command_fail(self, &err);
    if (!settings.database)
        return dlprof_cmd_run_program(&job, program);
    return read_file(&job, settings.database, &err) != 0 ? command_fail(self, &err) : EXIT_OK;
}

static const struct entry dlprof_cmd_examples[] = {
    { "tacho dlprof --reports=all python train.py", "Record a program, and write all reports." },
    { "tacho dlprof --nsys_database=nsys_profile.sqlite --reports=summary,detail",
      "Write two reports of an export of nsys." },
    { "tacho dlprof --nsys_database=report1.tacho --reports=all --iter_start=2",
      "Write the reports of all iterations from the third on." },
    { 0 },
};

static const struct entry dlprof_cmd_exits[] = {
    { "N", "The exit status of PROGRAM, if all files were written." },
    { 0 },
};

const struct command command_dlprof = {
    .name = "dlprof",
    .arguments = "[PROGRAM …]",
    .summary = "Write the reports of DLProf",
    .about = "Run PROGRAM, or read a file, and write the reports of NVIDIA's Deep Learning Profiler: the same options, "
             "columns and figures, without its patches of PyTorch and for any file that Tacho reads.",
    .examples = dlprof_cmd_examples,
    .exits = dlprof_cmd_exits,
    .options = dlprof_cmd_options,
    .files = "tacho,sqlite,json,gz,zst",
    .takes_program = 1,
    .run = dlprof_cmd_run,
};
