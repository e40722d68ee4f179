/* tacho stats: tables of a report, on the terminal or for other programs. */
#include "stats.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "command.h"
#include "display.h"
#include "open.h"

enum { MOST_REPORTS = 128, MOST_OPTIONS = 16 };

struct settings {
    struct option_list reports;
    const char *format, *time_unit;
    int quiet, help_reports, help_formats;
};

static const char *const *format_names(void)
{
    static const char *names[16];

    for (size_t i = 0; print_formats[i] && i + 1 < 16; i++)
        names[i] = print_formats[i]->name;
    return names;
}

static const char *const *report_names(void)
{
    static const char *names[MOST_REPORTS];

    for (size_t i = 0; analyses[i] && i + 1 < MOST_REPORTS; i++)
        names[i] = analyses[i]->name;
    return names;
}

static const char *const *time_unit_names(void)
{
    static const char *const names[] = { "nsec", "usec", "msec", "seconds", NULL };

    return names;
}

#define FIELD(name) offsetof(struct settings, name)
static const struct option options[] = {
    { .name = "report", .letter = 'r', .kind = OPTION_LIST, .offset = FIELD(reports), .value = "NAME[:OPTION…]", .choices = report_names,
      .help = "A report to show; several with commas or by giving it again. Default: all that are in the default "
              "list." },
    { .name = "format", .letter = 'f', .kind = OPTION_TEXT, .offset = FIELD(format), .value = "NAME", .choices = format_names,
      .help = "column (the default) or csv." },
    { .name = "timeunit", .kind = OPTION_TEXT, .offset = FIELD(time_unit), .value = "UNIT", .choices = time_unit_names,
      .help = "nsec (the default), usec, msec or seconds; any beginning of these words will do." },
    { .name = "quiet", .letter = 'q', .kind = OPTION_FLAG, .offset = FIELD(quiet),
      .help = "Tables only, without titles and notes." },
    { .name = "help-reports", .kind = OPTION_FLAG, .offset = FIELD(help_reports),
      .help = "List the reports and what they show." },
    { .name = "help-formats", .kind = OPTION_FLAG, .offset = FIELD(help_formats),
      .help = "List the formats." },
    { .name = "output", .letter = 'o', .kind = OPTION_IGNORED, .value = "NAME",
      .help = "this version prints to the terminal; use the shell's > instead" },
    { .name = "filter-time", .kind = OPTION_IGNORED, .value = "RANGE",
      .help = "this version shows all of the report" },
    { .name = "filter-nvtx", .kind = OPTION_IGNORED, .value = "RANGE",
      .help = "this version shows all of the report" },
    { .name = "sqlite", .kind = OPTION_IGNORED, .value = "FILE",
      .help = "reports are read directly; nothing is exported on the way" },
    { .name = "force-export", .kind = OPTION_IGNORED, .value = "BOOL",
      .help = "reports are read directly; nothing is exported on the way" },
    { .name = "force-overwrite", .kind = OPTION_IGNORED, .value = "BOOL",
      .help = "nothing is written" },
    { .name = "report-dir", .kind = OPTION_IGNORED, .value = "FOLDER",
      .help = "reports are part of the program" },
    {0},
};

size_t stats_defaults(const struct analysis **out, size_t room)
{
    size_t count = 0;

    for (int place = 1; count + 1 < room; place++) {
        const struct analysis *found = NULL;
        int more = 0;
        for (const struct analysis *const *at = analyses; *at; at++) {
            more |= (*at)->by_default >= place;
            if ((*at)->by_default == place)
                found = *at;
        }
        if (found)
            out[count++] = found;
        if (!more)
            break;
    }
    out[count] = NULL;
    return count;
}

int stats_print(struct text *out, struct report *report, const char *path, const struct analysis *analysis,
                const struct analysis_request *request, const struct stats_style *style, struct error *err)
{
    struct table *table = NULL;
    int code = analysis_run(analysis, report, request, &table, err);

    if (code != 0 && code != ERR_NO_DATA)
        return code;
    if (!style->quiet) {
        text_add(out, "Processing [");
        display_add(out, path, strlen(path), 0);
        text_addf(out, "] with [%s]... \n", analysis->name);
    }
    if (code == ERR_NO_DATA) {
        if (!style->quiet) {
            text_add(out, "SKIPPED: ");
            display_add(out, path, strlen(path), 0);
            text_addf(out, " does not contain %s data.\n\n", analysis->data);
        }
        return 0;
    }
    if (!style->quiet && style->format->title)
        style->format->title(out, analysis->title, analysis->name);
    if (table_row_count(table) || style->quiet)
        style->format->table(out, table, &style->request);
    else
        text_add(out, "Report was successfully run, but no data was returned.\n");
    if (!style->quiet)
        text_add_char(out, '\n');
    table_delete(table);
    return 0;
}

/* One report and the options behind its name: "nvtx_sum:rows=5". */
struct wanted {
    const struct analysis *analysis;
    struct analysis_option options[MOST_OPTIONS];
    size_t option_count;
};

static int parse_wanted(char *text, struct wanted *out, struct error *err)
{
    char *rest = strchr(text, ':');

    if (rest)
        *rest++ = 0;
    out->analysis = analysis_find(text);
    if (!out->analysis) {
        const char *nearest = nearest_name(text, report_names());
        if (nearest)
            return error_set(err, ERR_BAD_ARGUMENT, "there is no report '%s'; did you mean %s?", text, nearest);
        return error_set(err, ERR_BAD_ARGUMENT, "there is no report '%s'; --help-reports lists those that there are", text);
    }
    while (rest && *rest && out->option_count < MOST_OPTIONS) {
        struct analysis_option *option = &out->options[out->option_count++];
        option->name = strsep(&rest, ":");
        char *value = strchr(option->name, '=');
        if (value)
            *value++ = 0;
        option->value = value;
    }
    return 0;
}

/* All that was asked for. *texts keeps the names that the options point into. */
static int collect_wanted(const struct settings *settings, struct wanted *out, size_t *count, char ***texts, struct error *err)
{
    for (size_t i = 0; i < settings->reports.count; i++) {
        size_t names;
        texts[i] = option_split(settings->reports.values[i], &names);
        if (!texts[i])
            return error_set(err, ERR_NO_MEMORY, "out of memory");
        for (size_t j = 0; j < names; j++) {
            if (*count == MOST_REPORTS)
                return error_set(err, ERR_BAD_ARGUMENT, "more than %d reports at once", MOST_REPORTS);
            if (parse_wanted(texts[i][j], &out[*count], err) != 0)
                return err->code;
            ++*count;
        }
    }
    if (*count == 0) {
        const struct analysis *defaults[MOST_REPORTS];
        *count = stats_defaults(defaults, MOST_REPORTS);
        for (size_t i = 0; i < *count; i++)
            out[i].analysis = defaults[i];
    }
    return 0;
}

static int parse_style(const struct settings *settings, struct stats_style *style, struct error *err)
{
    style->quiet = settings->quiet;
    style->request.to_terminal = isatty(STDOUT_FILENO);
    style->format = print_format_find(settings->format ? settings->format : ".");
    if (!style->format)
        return error_set(err, ERR_BAD_ARGUMENT, "there is no format '%s'; --help-formats lists those that there are",
                         settings->format);
    style->request.time = settings->time_unit ? time_unit_find(settings->time_unit) : &time_unit_ns;
    if (!style->request.time)
        return error_set(err, ERR_BAD_ARGUMENT, "'%s' is no unit of time: nsec, usec, msec or seconds", settings->time_unit);
    return 0;
}

static int print_file(const struct command *self, const char *path, const struct wanted *wanted, size_t count,
                      const struct stats_style *style)
{
    struct report *report;
    struct error err = {0};
    struct text out = {0};
    int status = EXIT_OK;

    if (open_report(path, &report, &err) != 0)
        return command_fail(self, &err);
    for (size_t i = 0; i < count && status == EXIT_OK; i++) {
        struct analysis_request request = { .options = wanted[i].options, .option_count = wanted[i].option_count };
        if (stats_print(&out, report, path, wanted[i].analysis, &request, style, &err) != 0)
            status = command_fail(self, &err);
        else
            status = command_write(self, &out);
        text_clear(&out);
    }
    text_free(&out);
    report_close(report);
    return status;
}

static int print_help(const struct command *self, const struct settings *settings)
{
    struct text out = {0};

    if (settings->help_reports)
        for (const struct analysis *const *at = analyses; *at; at++)
            text_addf(&out, "%s%s -- %s\n    %s\n\n", (*at)->name, (*at)->usage, (*at)->title, (*at)->help);
    if (settings->help_formats)
        for (const struct print_format *const *at = print_formats; *at; at++)
            text_addf(&out, "%-8s %s\n", (*at)->name, (*at)->help);
    int status = command_write(self, &out);
    text_free(&out);
    return status;
}

static int run(const struct command *self, int argc, char **argv)
{
    struct settings settings = {0};
    struct stats_style style;
    struct error err = {0};
    const char *files[argc];
    char **texts[64] = {0};
    size_t file_count, count = 0;
    int status;

    if (!command_options(self, argc, argv, &settings, files, &file_count, &status))
        return status;
    if (settings.help_reports || settings.help_formats)
        return print_help(self, &settings);
    struct wanted *wanted = calloc(MOST_REPORTS, sizeof *wanted);
    if (!wanted)
        error_set(&err, ERR_NO_MEMORY, "out of memory");
    else if (file_count == 0)
        error_set(&err, ERR_BAD_ARGUMENT, "name a report: tacho stats report1.tacho");
    else if (parse_style(&settings, &style, &err) == 0)
        collect_wanted(&settings, wanted, &count, texts, &err);
    status = err.code ? command_fail(self, &err) : EXIT_OK;
    for (size_t i = 0; i < file_count && status == EXIT_OK; i++)
        status = print_file(self, files[i], wanted, count, &style);
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        free(texts[i]);
    free(wanted);
    return status;
}

const struct command command_stats = {
    .name = "stats", .arguments = "FILE …", .summary = "tables: where the time went",
    .about = "Prints the tables of a report. FILE is a .tacho report or the SQLite export of nsys.",
    .options = options, .files = "tacho,sqlite", .run = run,
};
