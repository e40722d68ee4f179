/* tacho info: the contents of a report, its origin, and its losses. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analyze/model/lowered_detail.h"
#include "analyze/model/recorder.h"
#include "analyze/model/stacks/missing_stacks.h"
#include "analyze/reports/run_sum.h"
#include "base/human.h"
#include "cmd/cmd_source.h"
#include "cmd/command.h"
#include "cmd/open_report.h"
#include "cmd/print/display.h"
#include "cmd/print/print.h"
#include "cmd/small_table.h"
#include "info_health.h"
#include "info_json.h"
#include "info_labels.h"
#include "info_processes.h"
#include "info_set.h"
#include "info_sources.h"
#include "report/reader/unite.h"

struct info_settings {
    int all, output, each;
    const char *format;
};

/* clang-format off */
static const struct option info_options[] = {
    { .name = "all", .letter = 'a', .kind = OPTION_FLAG, .offset = offsetof(struct info_settings, all),
      .help = "Show every process, table and message, not only the first ones." },
    { .name = "format", .letter = 'f', .kind = OPTION_CHOICE, .offset = offsetof(struct info_settings, format),
      .words = OPTION_WORDS("human", "json"),
      .help = "Output format: human (the default), or json, one document for all FILEs." },
    { .name = "output", .kind = OPTION_FLAG, .offset = offsetof(struct info_settings, output),
      .help = "Print only the program's output that `tacho profile -w false` hid: its stdout to stdout, its stderr to "
              "stderr." },
    EACH_OPTION(struct info_settings, each),
    { 0 },
};
/* clang-format on */

enum { FEW = 40, LABEL_WIDTH = 18, WIDEST_VALUE = 160 };

static void info_add_label(struct text *out, const char *label)
{
    text_addf(out, "%s", label);
    size_t length = strlen(label);
    text_add_repeat(out, ' ', length < LABEL_WIDTH ? LABEL_WIDTH - length : 1);
}

static void info_add_heading(struct text *out, const char *heading)
{
    text_addf(out, "\n%s\n", heading);
}

/* The lines that were left out, and the command that shows them. */
static void info_add_more(struct text *out, size_t count, const char *path)
{
    if (!count)
        return;
    text_add(out, "  … ");
    human_count(out, count);
    text_add(out, " more: ");
    display_add_quoted(out, command_name());
    text_add(out, " info --all ");
    display_add_file(out, path);
    text_add_char(out, '\n');
}

static int add_missing_stacks(struct text *out, struct report *report, struct error *err)
{
    struct missing_stacks missing[MISSING_STACKS_MAX];
    size_t count;
    int code = missing_stacks_read(missing, &count, report, err);

    if (code != 0 || !count)
        return code;
    info_add_label(out, "Stacks");
    missing_stacks_describe(out, missing, count);
    text_add_char(out, '\n');
    return 0;
}

/* A line for each source of which --cost-limit recorded less. */
static int info_add_lowered(struct text *out, struct report *report, struct error *err)
{
    struct lowered_detail detail;
    int code = lowered_detail_read(&detail, report, err);

    if (code != 0)
        return code;
    for (size_t i = 0; i < detail.count; i++) {
        info_add_label(out, i ? "" : "Lowered");
        lowered_detail_add(out, &detail.list[i]);
        lowered_detail_add_reason(out, &detail);
        text_add_char(out, '\n');
    }
    return 0;
}

/* At the end of the line before. */
static int add_missing_ranks(struct text *out, struct report *set, struct error *err)
{
    struct text ranks = { 0 };
    int64_t world_size;
    int code = info_add_missing(&ranks, set, &world_size, err);

    if (ranks.length) {
        int is_one = strspn(text_string(&ranks), "0123456789") == ranks.length;
        text_cut(out, out->length - 1);
        text_addf(out, "; rank%s %s of the job's %lld %s missing\n", is_one ? "" : "s", text_string(&ranks),
                  (long long)world_size, is_one ? "is" : "are");
    }
    text_free(&ranks);
    return code;
}

static int info_add_file(struct text *out, struct report *report, const char *path, struct error *err)
{
    struct info_health health;
    int code = info_health_read(&health, report, path, err);

    if (code != 0)
        return code;
    info_add_label(out, "File");
    display_add(out, path, strlen(path), 0);
    text_add(out, ", ");
    human_bytes(out, health.file_bytes);
    text_add_char(out, '\n');
    info_add_label(out, "Health");
    info_add_health(out, &health);
    if (info_is_set(report, path) && (code = add_missing_ranks(out, report, err)) != 0)
        return code;
    if ((code = info_add_lowered(out, report, err)) != 0)
        return code;
    return add_missing_stacks(out, report, err);
}

/* Names that have a line. A merged report has a row of each part for each. */
enum { MOST_TOLD = 128, MOST_VALUES = 4 };
struct told {
    int64_t names[MOST_TOLD];
    size_t count;
    int is_merged;
};

static int info_is_told(struct told *told, int64_t name)
{
    for (size_t i = 0; told->is_merged && i < told->count; i++)
        if (told->names[i] == name)
            return 1;
    if (told->count < MOST_TOLD)
        told->names[told->count++] = name;
    return 0;
}

/* The value of a row, and those of the rows after it with the same name, each once. */
static void info_add_values(struct text *out, const struct small_table *rows, size_t first,
                            const struct cmd_source_label *label)
{
    int64_t values[MOST_VALUES];
    size_t count = 0;

    for (size_t i = first; i < rows->columns.rows; i++) {
        int64_t value = small_table_number(rows, i, 1, 0);
        size_t at = 0;
        if (small_table_number(rows, i, 0, 0) != small_table_number(rows, first, 0, 0))
            continue;
        while (at < count && values[at] != value)
            at++;
        if (at < count)
            continue;
        if (count == MOST_VALUES) {
            text_add(out, ", …");
            return;
        }
        values[count++] = value;
        text_add(out, count > 1 ? ", " : "");
        info_label_add(out, label, small_table_text(rows, i, 1, NULL));
    }
}

/* Rows of name and value, as label and text, under a heading; heading NULL: none. */
static int info_add_pairs(struct text *out, struct report *report, const char *table, const char *heading,
                          struct error *err)
{
    static const char *const names[] = { "name", "value", NULL };
    struct small_table rows;
    struct told told = { .is_merged = report_rows(report, "TACHO_CLOCK_OFFSET") > 0 };
    int code = small_table_read(&rows, report, table, names, err);

    if (code != 0)
        return code;
    for (size_t i = 0; i < rows.columns.rows; i++) {
        struct text shown = { 0 };
        const char *name = small_table_text(&rows, i, 0, NULL);
        if (info_is_told(&told, small_table_number(&rows, i, 0, 0)))
            continue;
        const struct cmd_source_label unknown = { name, name, NULL }, *found = info_label_find(name);
        const struct cmd_source_label *label = found ? found : &unknown;
        if (!label->label)
            continue;
        if (heading)
            info_add_heading(out, heading);
        heading = NULL;
        display_add(&shown, label->label, strlen(label->label), 40);
        info_add_label(out, text_string(&shown));
        text_free(&shown);
        if (told.is_merged)
            info_add_values(out, &rows, i, label);
        else
            info_label_add(out, label, small_table_text(&rows, i, 1, NULL));
        text_add_char(out, '\n');
    }
    small_table_free(&rows);
    return 0;
}

/* Marks a report that was imported from another profiler's file. */
static int add_origin(struct text *out, struct report *report, struct error *err)
{
    const char *recorder;
    int code = recorder_read(&recorder, report, err);

    if (code != 0 || !recorder || strcmp(recorder, RECORDER_TACHO) == 0)
        return code;
    info_add_label(out, "Made by");
    text_addf(out, "%s; imported\n", recorder);
    return 0;
}

static void info_add_duration(struct text *out, const char *label, int64_t time_ns)
{
    if (time_ns <= 0)
        return;
    info_add_label(out, label);
    human_time(out, time_ns);
    text_add_char(out, '\n');
}

/* As run_sum has them. The process time of a program that still runs is not known, nor that of an import. */
static int info_add_durations(struct text *out, struct report *report, struct error *err)
{
    struct run_times times;
    int code = run_times_read(&times, report, err);

    if (code != 0)
        return code;
    info_add_duration(out, RUN_SUM_PROCESS, times.process_ns);
    info_add_duration(out, RUN_SUM_RECORDED, times.recorded_ns);
    return 0;
}

static int info_add_times(struct text *out, struct report *report, struct error *err)
{
    static const char *const start_names[] = { "utcTime", "localTime", NULL };
    struct small_table start;
    size_t length;
    int code;

    if ((code = small_table_read(&start, report, "TARGET_INFO_SESSION_START_TIME", start_names, err)) != 0)
        return code;
    if (start.columns.rows) {
        const char *utc = small_table_text(&start, 0, 0, &length);
        info_add_label(out, "Started");
        display_add(out, utc, length, WIDEST_VALUE);
        text_add(out, " UTC\n");
    }
    small_table_free(&start);
    return info_add_durations(out, report, err);
}

/* "started by nvtx", or "from the start". */
static void info_add_cause(struct text *out, const char *cause, size_t length)
{
    if (length == strlen("start") && memcmp(cause, "start", length) == 0) {
        text_add(out, "  from the start");
        return;
    }
    text_add(out, "  started by ");
    display_add(out, cause, length, WIDEST_VALUE);
}

static int info_add_ranges(struct text *out, struct report *report, struct error *err)
{
    static const char *const names[] = { "start", "end", "cause", NULL };
    struct small_table rows;
    size_t length;
    int code = small_table_read(&rows, report, "TACHO_RANGE", names, err);

    if (code != 0)
        return code;
    if (rows.columns.rows)
        info_add_heading(out, "Capture ranges");
    for (size_t i = 0; i < rows.columns.rows; i++) {
        const char *cause = small_table_text(&rows, i, 2, &length);
        text_add(out, "  ");
        human_time(out, small_table_number(&rows, i, 0, 0));
        text_add(out, " – ");
        if (small_table_is_null(&rows, i, 1))
            text_add(out, "(not ended)");
        else
            human_time(out, small_table_number(&rows, i, 1, 0));
        info_add_cause(out, cause, length);
        text_add_char(out, '\n');
    }
    small_table_free(&rows);
    return 0;
}

/* The messages of the profiler: notes with a severity. */
static int add_messages(struct text *out, struct report *report, const char *path, int all, struct error *err)
{
    static const char *const names[] = { "severity", "text", NULL };
    enum { SEVERITY_WARNING = 2 };
    struct small_table rows;
    size_t length, shown = 0, left = 0;
    int code = small_table_read(&rows, report, "DIAGNOSTIC_EVENT", names, err);

    if (code != 0)
        return code;
    for (size_t i = 0; i < rows.columns.rows; i++) {
        if (!all && (small_table_number(&rows, i, 0, 0) < SEVERITY_WARNING || shown == FEW)) {
            left++;
            continue;
        }
        if (shown++ == 0)
            info_add_heading(out, "Messages");
        const char *bytes = small_table_text(&rows, i, 1, &length);
        text_add(out, "  ");
        display_add(out, bytes, length, all ? 0 : WIDEST_VALUE);
        text_add_char(out, '\n');
    }
    info_add_more(out, shown ? left : 0, path);
    small_table_free(&rows);
    return 0;
}

/* Data of an imported file that was not imported. */
static int add_import_notes(struct text *out, struct report *report, const char *path, size_t limit, struct error *err)
{
    static const char *const names[] = { "tableName", "columnName", "reason", "count", NULL };
    struct small_table rows;
    size_t length;
    int code = small_table_read(&rows, report, "TACHO_IMPORT", names, err);

    if (code != 0)
        return code;
    if (rows.columns.rows)
        info_add_heading(out, "Not imported");
    for (size_t i = 0; i < rows.columns.rows && i < limit; i++) {
        text_add(out, "  ");
        for (size_t c = 0; c < 2; c++) {
            const char *name = small_table_text(&rows, i, c, &length);
            if (c && length)
                text_add_char(out, '.');
            display_add(out, name, length, WIDEST_VALUE);
        }
        text_addf(out, "  %s", small_table_text(&rows, i, 2, &length));
        if (small_table_number(&rows, i, 3, -1) >= 0)
            text_addf(out, ", %lld", (long long)small_table_number(&rows, i, 3, -1));
        text_add_char(out, '\n');
    }
    info_add_more(out, rows.columns.rows > limit ? rows.columns.rows - limit : 0, path);
    small_table_free(&rows);
    return 0;
}

static void info_add_tables(struct text *out, struct report *report)
{
    static const struct table_column columns[] = {
        { "Table", CELL_TEXT, UNIT_NONE, 0 },
        { "Rows", CELL_INT, UNIT_NONE, 0 },
        { "Bytes", CELL_INT, UNIT_NONE, 0 },
    };
    struct table *table = table_new(columns, 3);
    const struct print_request request = { .time = &time_unit_ns,
                                           .to_terminal = 1,
                                           .terminal_columns = print_terminal_columns(STDOUT_FILENO) };

    for (size_t i = 0; table && i < report_table_count(report); i++) {
        const struct report_table *at = report_table_at(report, i);
        struct table_cell *row = at->rows ? table_add_row(table) : NULL;
        if (!row)
            continue;
        cell_set_text(table, &row[0], at->name, strlen(at->name));
        cell_set_int(&row[1], (int64_t)at->rows);
        cell_set_int(&row[2], (int64_t)at->packed_bytes);
    }
    if (table && table_row_count(table)) {
        info_add_heading(out, "Tables");
        (request.terminal_columns ? &print_human : &print_column)->table(out, table, &request);
    }
    table_delete(table);
}

static int add_of_sources(struct text *out, struct report *report, struct error *err)
{
    const struct cmd_source *sources[CMD_SOURCE_COUNT];

    cmd_sources_order(SOURCE_LAST_IN_INFO, sources);
    for (size_t i = 0; i < CMD_SOURCE_COUNT; i++)
        if (sources[i]->info && sources[i]->info(out, report, err) != 0)
            return err->code;
    return 0;
}

/* Facts of a set: common ones, and differences between its reports. `tacho info` on one file has the rest. */
static int add_of_set(struct text *out, struct report *set, const char *path, struct error *err)
{
    if (info_add_file(out, set, path, err) != 0 || info_add_set(out, set, err) != 0)
        return err->code;
    return info_add_sources(out, set, err);
}

static int info_add_all(struct text *out, struct report *report, const char *path, int all, struct error *err)
{
    size_t limit = all ? SIZE_MAX : FEW, left = 0;

    if (info_is_set(report, path))
        return add_of_set(out, report, path, err);
    if (info_add_file(out, report, path, err) != 0 ||
        info_add_pairs(out, report, "META_DATA_CAPTURE", NULL, err) != 0 || add_origin(out, report, err) != 0 ||
        info_add_times(out, report, err) != 0 || info_add_merged(out, report, err) != 0 ||
        info_add_sources(out, report, err) != 0 || add_of_sources(out, report, err) != 0 ||
        info_add_processes(out, report, limit, &left, err) != 0)
        return err->code;
    info_add_more(out, left, path);
    if (info_add_ranges(out, report, err) != 0 || add_messages(out, report, path, all, err) != 0 ||
        add_import_notes(out, report, path, limit, err) != 0 ||
        info_add_pairs(out, report, "TARGET_INFO_SYSTEM_ENV", "Machine", err) != 0)
        return err->code;
    if (all)
        info_add_tables(out, report);
    return 0;
}

/* The bytes at the start of a line that stay: its label, or its indentation. */
static size_t info_start_of(const char *line)
{
    size_t length = strcspn(line, "\n"), at = strspn(line, " ");

    if (at || length <= LABEL_WIDTH)
        return at;
    for (at = LABEL_WIDTH; at < length && line[at - 1] != ' ';)
        at++;
    return at;
}

/* Adds the lines, those that are wider than the terminal wrapped. */
static void add_wrapped(struct text *out, const char *lines, size_t columns)
{
    while (*lines) {
        size_t length = strcspn(lines, "\n"), start = info_start_of(lines);
        struct text line = { 0 };
        text_add_bytes(&line, lines, length);
        if (!columns || display_columns(text_string(&line), line.length) <= columns) {
            text_addf(out, "%s\n", text_string(&line));
        } else {
            text_add_bytes(out, lines, start);
            display_add_wrapped(out, text_string(&line) + start, start, start, columns);
        }
        text_free(&line);
        lines += length + (lines[length] == '\n');
    }
}

/* ---- the output of the program --------------------------------------------------------------------------------- */

/* Writes the bytes unchanged, control characters too: the user asks for the output of a program that they ran. */
static int write_streams(const struct command *self, struct report *report, const char *path, struct error *err)
{
    static const char *const names[] = { "filenameId", "contentId", NULL };
    struct small_table rows;
    size_t length;
    int status = EXIT_OK;

    if (small_table_read(&rows, report, "ProcessStreams", names, err) != 0)
        return command_fail(self, err);
    if (!rows.columns.rows) {
        error_set(err, ERR_NOT_FOUND, "'%s' has no output of the program: tacho profile -w false stores it", path);
        status = command_fail(self, err);
    }
    for (size_t i = 0; i < rows.columns.rows && status == EXIT_OK; i++) {
        int is_error = strstr(small_table_text(&rows, i, 0, NULL), "stderr") != NULL;
        const char *bytes = small_table_text(&rows, i, 1, &length);
        struct text content = { 0 };
        if (is_error) {
            fwrite(bytes, 1, length, stderr);
        } else {
            text_add_bytes(&content, bytes, length);
            status = command_write(self, &content);
        }
        text_free(&content);
    }
    small_table_free(&rows);
    return status;
}

static int print_info(const struct command *self, struct report *report, const char *path, int is_first, int all,
                      struct error *err)
{
    struct text out = { 0 };

    if (!is_first)
        text_add_char(&out, '\n');
    struct text lines = { 0 };
    int code = info_add_all(&out, report, path, all, err);
    add_wrapped(&lines, text_string(&out), print_terminal_columns(STDOUT_FILENO));
    int status = code != 0 ? command_fail(self, err) : command_write(self, &lines);
    text_free(&lines);
    text_free(&out);
    return status;
}

/* One document: nothing is printed unless all files can be read. */
static int print_document(const struct command *self, const char *const *files, size_t count, int each,
                          struct error *err)
{
    struct text out = { 0 }, found = { 0 };
    struct report *report;
    int code = 0, status;

    text_add(&out, "[");
    for (size_t i = 0; i < input_count(count, each); i++) {
        text_clear(&found);
        if ((code = open_input(input_at(files, count, each, i), NULL, &found, &report, err)) != 0)
            goto free_text;
        text_add(&out, i ? ",\n " : "");
        code = info_add_json(&out, report, text_string(&found), err);
        report_close(report);
        if (code != 0)
            goto free_text;
    }
    text_add(&out, "]\n");
free_text:
    status = code != 0 ? command_fail(self, err) : command_write(self, &out);
    text_free(&found);
    text_free(&out);
    return status;
}

static int info_show_input(const struct command *self, const struct info_settings *settings, struct input input,
                           int is_first)
{
    struct text found = { 0 };
    struct report *report;
    struct error err = { 0 };
    int status;

    if (open_input(input, NULL, &found, &report, &err) != 0) {
        status = command_fail(self, &err);
        goto free_name;
    }
    status = settings->output ? write_streams(self, report, text_string(&found), &err)
                              : print_info(self, report, text_string(&found), is_first, settings->all, &err);
    report_close(report);
free_name:
    text_free(&found);
    return status;
}

static int info_run(const struct command *self, int argc, char **argv)
{
    struct info_settings settings = { 0 };
    struct error err = { 0 };
    const char *files[argc];
    size_t count;
    int status;

    if (!command_options(self, argc, argv, &settings, files, &count, &status))
        return status;
    if (count == 0) {
        error_set(&err, ERR_BAD_ARGUMENT, "no report given: tacho info report1.tacho");
        return command_fail(self, &err);
    }
    if (settings.format && strcmp(settings.format, "json") == 0 && !settings.output)
        return print_document(self, files, count, settings.each, &err);
    for (size_t i = 0; i < input_count(count, settings.each) && status == EXIT_OK; i++)
        status = info_show_input(self, &settings, input_at(files, count, settings.each, i), i == 0);
    return status;
}

static const struct entry info_examples[] = {
    { "tacho info report1.tacho", "Show where the report comes from, and what was lost." },
    { "tacho info --all report1.tacho", "List every process, table and message." },
    { "tacho info -f json report1.tacho", "Print the same as one JSON document, for scripts." },
    { 0 },
};

const struct command command_info = {
    .name = "info",
    .arguments = "FILE …",
    .summary = "Show the origin, the contents and the losses of a report",
    .about = "Show the origin of a report (command, machine, processes, ranks), the number of events that each source "
             "recorded and lost, and whether the file is complete.",
    .examples = info_examples,
    .options = info_options,
    .files = "tacho,sqlite",
    .run = info_run,
};
