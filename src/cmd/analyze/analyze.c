/* tacho analyze: rules that look for common causes of lost time, with advice in words. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/registry.h"
#include "analyze/reports/advice_sum.h"
#include "cmd/advice_tables.h"
#include "finding_condition.h"
#include "finding_format.h"

struct analyze_cmd_settings {
    struct run_reports_settings show;
    struct option_list conditions;
    struct measure_settings measure;
    const char *help_rules;
    int help_formats, json, measures;
};

static const char *const *rule_names(void)
{
    static const char *names[SHOW_MOST_NAMES];

    return run_reports_names(names, rules, NULL);
}

static const char *const *help_names(void)
{
    static const char *names[SHOW_MOST_NAMES];

    return run_reports_names(names, rules, "ALL");
}

#define FIELD(name) offsetof(struct analyze_cmd_settings, name)
/* clang-format off */
static const struct option analyze_cmd_options[] = {
    { .name = "rule", .letter = 'r', .kind = OPTION_LIST, .offset = FIELD(show.names), .value = "NAME[:OPTION…]",
      .choices = rule_names,
      .help = "Rule to run, with its options; repeat it, or separate several with commas. Default: all rules." },
    { .name = "fail-if", .kind = OPTION_LIST, .offset = FIELD(conditions), .value = "CONDITION",
      .help = "Exit with status 1 if a finding exceeds the limit: 'saving>5%' (the estimate, percent of a step), "
              "'bound>200us' (per step), 'impact>5%' (of the whole run, also of rules that are not on the replay)." },
    DELIVER_OPTIONS_AND(struct analyze_cmd_settings, show.deliver, finding_format_names, "human on stdout",
                        "sarif and github print findings instead of tables, for code review. "),
    { .name = "json", .kind = OPTION_FLAG, .offset = FIELD(json), .help = "The same as --format=json." },
    { .name = "measure", .kind = OPTION_FLAG, .offset = FIELD(measures),
      .help = "Time the alternative of each modelled finding on the GPU of this machine, for the shapes that the "
              "report has, and print the findings with what was measured. Needs torch." },
    { .name = "python", .kind = OPTION_TEXT, .offset = FIELD(measure.python), .value = "PROGRAM",
      .help = "Python that has torch, for --measure. Default: python3." },
    { .name = "all-steps", .kind = OPTION_FLAG, .offset = FIELD(show.part.all_steps),
      .help = "Replay all steps, however many there are. Default: a window of typical steps of a long capture." },
    PART_OPTIONS(struct analyze_cmd_settings, show.part),
    FOREIGN_REP_OPTIONS(struct analyze_cmd_settings, show.input),
    EACH_OPTION(struct analyze_cmd_settings, show.each),
    { .name = "help-rules", .kind = OPTION_TEXT, .offset = FIELD(help_rules), .value = "[NAME|ALL]",
      .choices = help_names,
      .help = "List the rules; with NAME or ALL, explain them." },
    { .name = "help-formats", .kind = OPTION_FLAG, .offset = FIELD(help_formats),
      .help = "List the output formats." },
    { .name = "rule-dir", .kind = OPTION_IGNORED, .value = "FOLDER",
      .help = "rules are built in, and scripts are not run" },
    { 0 },
};
/* clang-format on */

static int analyze_cmd_add_all(struct selection_list *list, struct report *report, int for_people, struct text *lacking,
                               struct error *err)
{
    const struct analysis *first[] = { &analysis_advice_sum, /* what to read first */
                                       &analysis_rule_sum };
    size_t count = for_people ? 1 : 2;                       /* people read the answers of the rules below the tables */

    for (size_t i = 0; i < count; i++)
        if (!analysis_missing(first[i], report) && selection_add(list, first[i], err) != 0)
            return err->code;
    for (const struct analysis *const *at = rules; *at; at++) {
        int is_left_out = analysis_is_replayed(*at) /* advice_sum has all that these find */ ||
                          (adviser_is_long(report) && findings_reads_part(*at, report));
        if (!is_left_out && selection_add(list, *at, err) != 0)
            return err->code;
    }
    return 0;
}

static const struct run_reports_registry registry = { rules, rule_find, "rule", "Nothing found by",
                                                      analyze_cmd_add_all };

/* ---- findings -------------------------------------------------------------------------------------------------- */

enum { MOST_CONDITIONS = OPTION_LIST_MAX };

struct analyze_cmd_job {
    const struct analyze_cmd_settings *settings;
    const struct finding_format *format; /* NULL: tables were printed, findings are only checked */
    struct selection_list wanted;
    struct condition conditions[MOST_CONDITIONS];
    size_t condition_count;
    int failed;                      /* a condition was met */
    struct output_delivery delivery; /* for tables, with --measure */
    struct print_document document;
};

static int analyze_cmd_take_conditions(struct analyze_cmd_job *job, struct error *err)
{
    const struct option_list *given = &job->settings->conditions;

    for (size_t i = 0; i < given->count; i++)
        if (finding_condition_parse(given->values[i], &job->conditions[job->condition_count++], err) != 0)
            return err->code;
    return 0;
}

/* The format of findings that was asked for. It stands alone: the tables of another format have no place beside it. */
static int analyze_cmd_take_format(struct analyze_cmd_job *job, struct error *err)
{
    const struct output_settings *deliver = &job->settings->show.deliver;

    for (size_t i = 0; i < deliver->formats.count && !job->format; i++)
        job->format = finding_format_find(deliver->formats.values[i]);
    if (job->format && (deliver->formats.count > 1 || deliver->outputs.count))
        return error_set(err, ERR_BAD_ARGUMENT,
                         "--format=%s is printed alone, to stdout: use no other --format and no "
                         "--output",
                         job->format->name);
    return 0;
}

static int analyze_cmd_check_conditions(struct analyze_cmd_job *job, const struct analyze_file *file, struct error *err)
{
    struct text line = { 0 };
    int code = 0, is_met;

    for (size_t i = 0; i < job->condition_count; i++) {
        if ((code = finding_condition_check(&job->conditions[i], file, &is_met, &line, err)) != 0)
            break;
        job->failed |= is_met;
    }
    fputs(text_string(&line), stderr);
    text_free(&line);
    return code;
}

/* One table on its way to stdout. */
static void analyze_cmd_add_table(struct text *out, struct analyze_cmd_job *job, const struct table *table,
                                  const char *title, const char *name)
{
    const struct output_destination *destination = output_delivery_at(&job->delivery, 0);
    struct print_request request = destination->request;

    if (!table || !print_document_table(out, &job->document, name))
        return;
    request.title = title;
    request.name = name;
    request.null_is_null = 1;
    if (destination->format->title && !job->delivery.quiet)
        destination->format->title(out, title, name, &request);
    destination->format->table(out, table, &request);
    print_document_end_table(out, &job->document);
    if (output_is_human(destination))
        text_add_char(out, '\n');
}

/* The findings; for people, savings per step apart from findings of the whole run. */
static int analyze_cmd_add_advice(struct text *out, struct analyze_cmd_job *job, const struct table *advice,
                                  struct error *err)
{
    struct advice_table groups[ADVICE_TABLES];
    size_t count;
    int code;

    if (!output_is_human(output_delivery_at(&job->delivery, 0)) || job->delivery.quiet) {
        analyze_cmd_add_table(out, job, advice, analysis_advice_sum.title, analysis_advice_sum.name);
        return 0;
    }
    if ((code = advice_tables_read(groups, &count, advice, err)) != 0)
        return code;
    for (size_t i = 0; i < count; i++)
        analyze_cmd_add_table(out, job, groups[i].table, groups[i].title, analysis_advice_sum.name);
    advice_tables_free(groups, count);
    return 0;
}

/* The findings with what was measured, and the measurements. */
static int analyze_cmd_add_measured(struct text *out, struct analyze_cmd_job *job, const struct analyze_file *file,
                                    struct error *err)
{
    struct table *advice;
    int code = advice_sum_table(&file->findings, &advice, err);

    if (code != 0)
        return code;
    job->document = (struct print_document){ .format = output_delivery_at(&job->delivery, 0)->format, .by_table = 1 };
    print_document_file(out, &job->document, "");
    if ((code = analyze_cmd_add_advice(out, job, advice, err)) != 0)
        goto delete_advice;
    analyze_cmd_add_table(out, job, file->measured, "Alternatives, Timed on This Machine", "measured");
    print_document_end_file(out, &job->document);
    print_document_end(out, &job->document);
delete_advice:
    table_delete(advice);
    return code;
}

static int analyze_cmd_read_input(struct analyze_cmd_job *job, struct input input, size_t number, struct error *err)
{
    struct analyze_file file = { 0 };
    struct text out = { 0 };
    const struct measure_settings *measure = job->settings->measures ? &job->settings->measure : NULL;
    int code = analyze_file_open(&file, input, &job->settings->show, &job->wanted, measure, err);

    if (code != 0)
        goto close_file;
    if (job->format)
        job->format->file(&out, &file, number);
    else if (measure && (code = analyze_cmd_add_measured(&out, job, &file, err)) != 0)
        goto close_file;
    command_print(&out);
    code = analyze_cmd_check_conditions(job, &file, err);
close_file:
    text_free(&out);
    analyze_file_close(&file);
    return code;
}

static void analyze_cmd_add_frame(void (*add)(struct text *out))
{
    struct text out = { 0 };

    if (add)
        add(&out);
    command_print(&out);
    text_free(&out);
}

/* Prints the findings of the files in a format, and checks the conditions. */
static int read_files(const struct command *self, struct analyze_cmd_job *job, const char *const *files, size_t count)
{
    struct error err = { 0 };
    int each = job->settings->show.each;

    if (!count)
        error_set(&err, ERR_BAD_ARGUMENT, "no report given: tacho %s report1.tacho", self->name);
    else
        selection_parse(&job->wanted, &job->settings->show.names, rules, "rule", &err);
    if (!err.code && job->format)
        analyze_cmd_add_frame(job->format->begin);
    for (size_t i = 0; i < input_count(count, each) && !err.code; i++)
        analyze_cmd_read_input(job, input_at(files, count, each, i), i, &err);
    if (!err.code && job->format)
        analyze_cmd_add_frame(job->format->end);
    int status = err.code ? command_fail(self, &err) : job->failed ? EXIT_FAILED : EXIT_OK;
    if (status == EXIT_OK && job->wanted.unknown.code)
        status = command_fail(self, &job->wanted.unknown);
    selection_free(&job->wanted);
    return status;
}

/* ---- the command ----------------------------------------------------------------------------------------------- */

static int analyze_cmd_run_job(const struct command *self, struct analyze_cmd_job *job, const char *const *files,
                               size_t file_count)
{
    struct error err = { 0 };
    int status = EXIT_OK;

    if (analyze_cmd_take_format(job, &err) != 0 || analyze_cmd_take_conditions(job, &err) != 0 ||
        (!job->format && output_delivery_parse(&job->delivery, &job->settings->show.deliver, &err) != 0))
        return command_fail(self, &err);
    int only_tables = !job->format && !job->settings->measures;
    if (only_tables)
        status = run_reports_files(self, &job->settings->show, &registry, files, file_count);
    if (status == EXIT_OK && (!only_tables || job->condition_count))
        status = read_files(self, job, files, file_count);
    output_delivery_free(&job->delivery);
    return status;
}

static int help(const struct command *self, const struct analyze_cmd_settings *settings)
{
    struct text formats = { 0 };
    int status = run_reports_help(self, &registry, settings->help_rules, settings->help_formats);

    if (settings->help_formats)
        finding_format_help(&formats);
    if (status == EXIT_OK)
        status = command_write(self, &formats);
    text_free(&formats);
    return status;
}

static int analyze_cmd_run(const struct command *self, int argc, char **argv)
{
    struct analyze_cmd_settings settings = { .measure.python = "python3", .show.deliver.is_for_people = 1 };
    struct option_list *formats = &settings.show.deliver.formats;
    const char *files[argc];
    size_t file_count;
    int status;

    if (!command_options(self, argc, argv, &settings, files, &file_count, &status))
        return status;
    if (settings.help_rules || settings.help_formats)
        return help(self, &settings);
    if (settings.json && formats->count < OPTION_LIST_MAX)
        formats->values[formats->count++] = "json";
    struct analyze_cmd_job *job = calloc(1, sizeof *job);
    if (!job)
        return command_fail(self, &(struct error){ ERR_NO_MEMORY, "out of memory" });
    job->settings = &settings;
    status = analyze_cmd_run_job(self, job, files, file_count);
    free(job);
    return status;
}

static const struct entry analyze_cmd_examples[] = {
    { "tacho analyze report1.tacho", "Run all rules." },
    { "tacho analyze -r gpu_gaps:gap=10 report1.tacho", "Find gaps of 10 ms or more without GPU work." },
    { "tacho analyze --format nsys report1.tacho", "Print the tables in the layout of nsys." },
    { "tacho analyze -f github --fail-if 'saving>5%' report1.tacho",
      "Annotate the lines of a pull request, and fail if a change would save more than 5 % of a step." },
    { "tacho analyze --measure report1.tacho", "Time what the advice recommends, on this machine's GPU." },
    { "tacho analyze -f sarif report1.tacho > report1.sarif", "Write the findings for a tool of code review." },
    { 0 },
};

static const struct entry analyze_cmd_exits[] = {
    { "0", "The rules have run, whatever they found." },
    { "1", "A condition of --fail-if is met or could not be checked, or a file cannot be read." },
    { "2", "The command line is wrong." },
    { 0 },
};

const struct command command_analyze = {
    .name = "analyze",
    .arguments = "FILE …",
    .summary = "Check for common performance problems and print advice",
    .about = "Check a report for common performance problems and print advice. FILE is a .tacho report, a trace of "
             "torch.profiler or an SQLite export of nsys. For a .nsys-rep, tacho reads the export beside it, or has "
             "nsys make one.",
    .examples = analyze_cmd_examples,
    .exits = analyze_cmd_exits,
    .options = analyze_cmd_options,
    .files = "tacho,sqlite",
    .run = analyze_cmd_run,
};
