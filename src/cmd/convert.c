/* tacho import, export and recover: from file to file. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analyze/engine/row_cursor.h"
#include "analyze/model/filter.h"
#include "analyze/model/stacks/missing_stacks.h"
#include "base/nearest.h"
#include "base/path.h"
#include "base/text.h"
#include "command.h"
#include "export/export.h"
#include "foreign_rep.h"
#include "import/import.h"
#include "install_paths.h"
#include "keep_partials.h"
#include "open_report.h"
#include "output.h"
#include "report/schema/enums.h"
#include "report/schema/schema.h"
#include "report/writer/recover.h"
#include "selection.h"
#include "serve/notes.h"
#include "set/set.h"
#include "set/set_files.h"

struct convert_settings {
    const char *output, *type, *ts_shift, *samples;
    const char *file_name; /* the exported file, without its folder */
    struct option_list tables, times;
    struct export_options export;
    struct selection_part_settings part;
    int overwrite, quiet;
};

#define FIELD(name) offsetof(struct convert_settings, name)
#define OUTPUT_ROW(text)                                                                                             \
    { .name = "output", .letter = 'o', .kind = OPTION_TEXT, .offset = FIELD(output), .value = "FILE", .help = text }
#define OVERWRITE_ROW                                                                                                \
    { .name = "force-overwrite", .letter = 'f', .kind = OPTION_BOOL, .offset = FIELD(overwrite),                      \
      .help = "Overwrite existing files. Default: false." }
#define QUIET_ROW                                                                                                    \
    { .name = "quiet", .letter = 'q', .kind = OPTION_BOOL, .offset = FIELD(quiet), \
      .help = "Print nothing on success. Default: false." }

#define TO_STDOUT "-" /* as the output */

/* A report cannot be written from its beginning to its end. */
static int refuse_stdout(const char *output, struct error *err)
{
    if (strcmp(output, TO_STDOUT) != 0)
        return 0;
    return error_set(err, ERR_BAD_ARGUMENT, "a report cannot be written to stdout: name a file with -o");
}

/* The length of a path without its ending: that of "dir/.name" for "dir/.name.json". */
static size_t without_ending(const char *path, size_t length)
{
    size_t at = length;

    while (at > 1 && path[at - 1] != '.' && path[at - 1] != '/')
        at--;
    return at > 1 && path[at - 1] == '.' && path[at - 2] != '/' ? at - 1 : length;
}

/* "dir/name.sqlite" or "dir/name.json.gz" to "dir/name.tacho"; allocated. NULL when memory is short. */
static char *with_ending(const char *path, const char *separator, const char *ending)
{
    int is_packed = text_ends_with(path, ".gz") || text_ends_with(path, ".zst");
    size_t length = without_ending(path, strlen(path));

    length = is_packed ? without_ending(path, length) : length;
    char *out = malloc(length + strlen(separator) + strlen(ending) + 1);

    if (out)
        sprintf(out, "%.*s%s%s", (int)length, path, separator, ending);
    return out;
}

/* Parses the options and checks that there is a file, and not more than `most`. Returns 1 to go on. */
static int prepare_several(const struct command *self, int argc, char **argv, struct convert_settings *settings,
                           const char **files, size_t *count, size_t most, int *status)
{
    struct error err;

    if (!command_options(self, argc, argv, settings, files, count, status))
        return 0;
    if (!*count || *count > most) {
        error_set(&err, ERR_BAD_ARGUMENT, "%s: tacho %s FILE", *count ? "more than one file given" : "no file given",
                  self->name);
        *status = command_fail(self, &err);
        return 0;
    }
    return 1;
}

static int convert_prepare(const struct command *self, int argc, char **argv, struct convert_settings *settings,
                           const char **file, int *status)
{
    const char *files[argc];
    size_t count;

    if (!prepare_several(self, argc, argv, settings, files, &count, 1, status))
        return 0;
    *file = files[0];
    return 1;
}

/* Prints the path of the result, unless --quiet is given or the result is on stdout; frees the made-up name. */
static int convert_finish(const struct command *self, int code, const struct error *err,
                          const struct convert_settings *settings, const char *output, char *made_up)
{
    struct error said = *err;

    if (code == ERR_DENIED && made_up && strstr(err->text, made_up)) /* beside a file that is only ours to read */
        error_set(&said, code, "%s; name another file with -o", err->text);
    if (code != 0)
        command_fail(self, &said);
    else if (!settings->quiet && strcmp(output, TO_STDOUT) != 0)
        printf("%s\n", output);
    free(made_up);
    if (code != 0)
        return code == ERR_BAD_ARGUMENT ? EXIT_USAGE : EXIT_FAILED;
    return EXIT_OK;
}

/* ---- import ---------------------------------------------------------------------------------------------------- */

/* clang-format off */
static const struct option import_options[] = {
    OUTPUT_ROW("Report to write. Default: FILE with the extension .tacho, in its directory."), OVERWRITE_ROW,
    QUIET_ROW, { 0 },
};
/* clang-format on */

/* The number of rows of TACHO_IMPORT that give this reason. */
static size_t count_reason(struct report *report, const char *reason)
{
    static const char *const names[] = { "reason", NULL };
    struct row_cursor rows;
    struct error err;
    size_t count = 0;

    if (row_cursor_open(&rows, report, "TACHO_IMPORT", names, &err) != 0)
        return 0;
    while (row_cursor_next(&rows))
        count += strcmp(report_string(report, row_int(&rows, 0), NULL), reason) == 0;
    row_cursor_close(&rows);
    return count;
}

static void say_what_is_missing(const struct command *self, const char *path)
{
    static const struct {
        const char *reason, *sentence;
    } words[] = {
        { "unknown-table", "tables skipped: this version does not know them" },
        { "unknown-column", "columns skipped: this version does not know them" },
        { "wrong-type", "columns have values of a wrong type, which became NULL" },
        { "no-such-string", "columns refer to missing strings, which became NULL" },
        { "damaged", "tables are damaged and were imported in part" },
        { "truncated", "list of events is truncated; the events before that were imported" },
        { "too-many", "kind of event has too many arguments; the others were dropped" },
        { "repaired", "list of events has unescaped quotes in strings, which were taken as part of the string" },
        { "journal-not-read", "journal (-wal) beside the file could not be read; its rows are missing" },
    };
    struct report *report;
    struct error err;

    if (report_open(path, &report, &err) != 0)
        return;
    for (size_t i = 0; i < COUNT_OF(words); i++) {
        size_t count = count_reason(report, words[i].reason);
        if (count)
            fprintf(stderr, "tacho %s: %zu %s (table TACHO_IMPORT)\n", self->name, count, words[i].sentence);
    }
    report_close(report);
}

/* A report without them is slower to read with others, that is all. */
static void keep_results(const char *path)
{
    struct report *report;
    struct error err;

    if (report_open(path, &report, &err) != 0)
        return;
    keep_partials(path, report, &err);
    report_close(report);
}

/* A file that is there stays as it is until the new one is whole. */
static int import_over(const struct importer *importer, const char *path, const char *output, struct error *err)
{
    char *part;

    if (asprintf(&part, "%s.importing", output) < 0)
        return error_no_memory(err);
    int code = importer->import(path, part, 1, err);
    if (code != 0)
        goto free_part;
    keep_results(part);
    if (rename(part, output) != 0) {
        code = error_set_errno(err, "cannot write %s", output);
        unlink(part);
    }
free_part:
    free(part);
    return code;
}

static int convert_is_file(const char *path)
{
    struct stat status;

    return stat(path, &status) == 0 && S_ISREG(status.st_mode);
}

/* A .nsys-rep is first exported by nsys, and a .ncu-rep by ncu, to a file beside it. */
static int convert_import_file(const struct command *self, const char *file, const char *output,
                               const struct convert_settings *settings, struct error *err)
{
    struct text found = { 0 }; /* the export, or the file itself */
    const struct importer *importer;
    int code;

    if ((code = refuse_stdout(output, err)) != 0)
        goto done;
    if ((code = foreign_rep_find(file, &(struct foreign_rep_settings){ .is_import = 1 }, &found, err)) != 0)
        goto done;
    if (!(importer = importer_for(text_string(&found)))) {
        code = error_set(err, ERR_BAD_FORMAT,
                         "cannot import '%s': it is neither an SQLite export of nsys, a CSV of ncu nor a trace of "
                         "torch.profiler, or cannot be read",
                         file);
        goto done;
    }
    int is_over = settings->overwrite && convert_is_file(output);
    code = is_over ? import_over(importer, text_string(&found), output, err)
                   : importer->import(text_string(&found), output, settings->overwrite, err);
    if (code != 0)
        goto done;
    if (!is_over)
        keep_results(output);
    if (!settings->quiet)
        say_what_is_missing(self, output);
done:
    text_free(&found);
    return code;
}

static int run_import(const struct command *self, int argc, char **argv)
{
    struct convert_settings settings = { 0 };
    struct error err = { 0 };
    const char *file;
    int status;

    if (!convert_prepare(self, argc, argv, &settings, &file, &status))
        return status;
    char *made_up = settings.output ? NULL : with_ending(file, ".", "tacho");
    const char *output = settings.output ? settings.output : made_up;
    int code = output ? convert_import_file(self, file, output, &settings, &err) : error_no_memory(&err);
    return convert_finish(self, code, &err, &settings, output, made_up);
}

static const struct entry import_examples[] = {
    { "tacho import trace.json.gz", "Write trace.tacho from a trace of torch.profiler." },
    { "tacho import -o run.tacho nsys.sqlite", "Write run.tacho from the SQLite export of nsys." },
    { "tacho import kernels.ncu-rep", "Have ncu print the counters of its report, and write kernels.tacho from them." },
    { 0 },
};

const struct command command_import = {
    .name = "import",
    .arguments = "FILE",
    .summary = "Convert another profiler's file to a .tacho report",
    .about =
        "Convert an SQLite export of nsys (nsys export --type sqlite), a CSV of ncu (ncu --csv, raw or details page) "
        "or "
        "a trace of torch.profiler (.json, .json.gz, .json.zst) to a .tacho report. The other commands read such files "
        "directly; a report is smaller and opens faster.",
    .examples = import_examples,
    .options = import_options,
    .files = "sqlite,csv,json,gz,zst,nsys-rep,ncu-rep",
    .run = run_import,
};

/* ---- export ---------------------------------------------------------------------------------------------------- */

static const char *const *type_names(void)
{
    static const char *names[32];

    for (size_t i = 0; exporters[i] && i + 1 < 32; i++)
        names[i] = exporters[i]->name;
    return names;
}

static int take_max_size(void *settings, const char *value, struct error *err)
{
    uint64_t bytes = option_size(value, 1000);

    if (bytes == 0)
        return error_set(err, ERR_BAD_ARGUMENT, "--max-size must be a size such as 25MB, not '%s'", value);
    ((struct convert_settings *)settings)->export.max_bytes = bytes;
    return 0;
}

/* clang-format off */
static const struct option export_options[] = {
    { .name = "type", .letter = 't', .kind = OPTION_TEXT, .offset = FIELD(type), .value = "TYPE", .choices = type_names,
      .help = "Format to write: sqlite, arrow, arrowdir, csv, json, jsonlines, text, chrome, perfetto, stacks, folded, "
              "speedscope, pprof, svg, tacho or html. Default: sqlite." },
    OUTPUT_ROW("File (csv, arrowdir: directory) to write, or '-' for stdout (not sqlite, arrowdir, tacho, html). "
               "Default: FILE with the extension of the type, in its directory."),
    OVERWRITE_ROW,
    QUIET_ROW,
    { .name = "tables", .kind = OPTION_LIST, .offset = FIELD(tables), .value = "PATTERN,…",
      .help = "Export only tables whose names match one of these basic regular expressions, regardless of case. "
              "Default: all." },
    { .name = "times", .kind = OPTION_LIST, .offset = FIELD(times), .value = "[START]/[END],…",
      .help = "Export only events that overlap one of these time ranges; in ns, or with a unit (us, ms, s). Default: "
              "all." },
    PART_OPTIONS(struct convert_settings, part),
    { .name = "ts-shift", .kind = OPTION_TEXT, .offset = FIELD(ts_shift), .value = "TIME",
      .help = "Add TIME to every timestamp; in ns, or with a unit (us, ms, s). Default: 0." },
    { .name = "ts-normalize", .kind = OPTION_BOOL, .offset = FIELD(export.normalize),
      .help = "Write times as ns since 1970 (UTC), not since the start of the capture. Default: false." },
    { .name = "lazy", .letter = 'l', .kind = OPTION_BOOL, .offset = FIELD(export.lazy),
      .help = "Omit tables without rows. Default: true." },
    { .name = "gzip", .kind = OPTION_BOOL, .offset = FIELD(export.gzip),
      .help = "chrome, perfetto, folded, speedscope: compress the file with gzip. Default: true if the output ends "
              "with .gz, else false." },
    { .name = "metric", .kind = OPTION_TEXT, .offset = FIELD(export.metric), .value = "NAME",
      .help = "stacks: time to write, self_cpu_time_total or self_cuda_time_total. Default: self_cpu_time_total." },
    { .name = "metadata", .kind = OPTION_TEXT, .offset = FIELD(export.metadata), .value = "OBJECT",
      .help = "chrome: JSON object, such as {\"batch\": 64}, to add to the trace as metadata." },
    { .name = "samples", .kind = OPTION_CHOICE, .offset = FIELD(samples), .value = "KIND",
      .words = OPTION_WORDS("cpu", "python", "heap"),
      .help = "folded, speedscope, pprof, svg: samples to write, CPU samples (cpu), Python samples (python), or the "
              "bytes that were allocated at the peak of the heap (heap). Default: cpu if there are any." },
    { .name = "waiting", .kind = OPTION_BOOL, .offset = FIELD(export.waiting_samples),
      .help = "folded, speedscope, pprof, svg: include samples of waiting threads. Default: false." },
    { .name = "max-size", .kind = OPTION_CUSTOM, .take = take_max_size, .value = "SIZE",
      .help = "html, tacho: export only the middle of the report, as much as fits into a file of this size, such as "
              "25MB." },
    { .name = "append", .kind = OPTION_BOOL, .offset = FIELD(export.append),
      .help = "sqlite: append to an existing file. Default: false." },
    { .name = "separate-strings", .kind = OPTION_BOOL, .offset = FIELD(export.separate_strings),
      .help = "csv, json, jsonlines, text: write string IDs, and the table StringIds, instead of strings, as sqlite "
              "always does. Default: false." },
    { .name = "csv-guard", .kind = OPTION_BOOL, .offset = FIELD(export.guard_formulas),
      .help = "csv: prefix text cells that start with =, +, -, @, tab or CR with ', so that spreadsheets do not "
              "evaluate them. Default: false." },
    { .name = "include-blobs", .kind = OPTION_IGNORED, .value = "BOOL",
      .help = "binary payloads are always included" },
    { .name = "include-json", .kind = OPTION_IGNORED, .value = "BOOL",
      .help = "JSON payloads are always included" },
    { 0 },
};
/* clang-format on */

/* Splits each value at its commas and hands the parts on; a backslash is the pattern's own. */
static int convert_take_parts(const struct option_list *list, struct export_options *options,
                              int (*add)(struct export_options *options, const char *part, struct error *err),
                              struct error *err)
{
    int code = 0;

    for (size_t i = 0; i < list->count; i++) {
        char *copy = strdup(list->values[i]), *rest = copy, *part;
        if (!copy)
            return error_no_memory(err);
        while ((part = strsep(&rest, ",")))
            if (*part && (code = add(options, part, err)) != 0)
                break;
        free(copy);
        if (code != 0)
            return code;
    }
    return 0;
}

/* Types that nsys writes and tacho does not, and what to do instead. */
static const struct {
    const char *type, *instead;
} types_of_nsys[] = {
    { "parquetdir", "Tacho does not write Parquet; the Python package does: tacho.Report(FILE).to_parquet(DIRECTORY); "
                    "or use --type arrowdir" },
    { "hdf", "Tacho does not write HDF5; --type arrowdir writes files that pandas and MATLAB read" },
    { "info", "use 'tacho info FILE' to show the contents of a report" },
};

static void complain_type(const char *type, struct error *err)
{
    const char *nearest = nearest_name(type, type_names());
    struct text known = { 0 };

    for (size_t i = 0; i < COUNT_OF(types_of_nsys); i++)
        if (strcmp(types_of_nsys[i].type, type) == 0) {
            error_set(err, ERR_BAD_ARGUMENT, "%s", types_of_nsys[i].instead);
            return;
        }
    for (const char *const *name = type_names(); *name; name++)
        text_addf(&known, "%s%s", known.length ? ", " : "", *name);
    if (nearest)
        error_set(err, ERR_BAD_ARGUMENT, "unknown type '%s'; did you mean %s? The types are %s.", type, nearest,
                  text_string(&known));
    else
        error_set(err, ERR_BAD_ARGUMENT, "unknown type '%s'; the types are %s", type, text_string(&known));
    text_free(&known);
}

static int take_export_options(struct convert_settings *settings, const struct exporter **exporter, struct error *err)
{
    *exporter = exporter_find(settings->type);
    if (!*exporter) {
        complain_type(settings->type, err);
        return err->code;
    }
    settings->export.python_samples = settings->samples && strcmp(settings->samples, "python") == 0;
    settings->export.heap_samples = settings->samples && strcmp(settings->samples, "heap") == 0;
    int code;
    if ((code = convert_take_parts(&settings->tables, &settings->export, export_add_pattern, err)) != 0)
        return code;
    if ((code = convert_take_parts(&settings->times, &settings->export, export_add_range, err)) != 0)
        return code;
    return settings->ts_shift ? export_parse_time(settings->ts_shift, &settings->export.shift_ns, err) : 0;
}

/* A pattern that is misspelt leaves nothing, which is easily taken for a report without data. */
static int names_a_table(const struct export_options *options, const struct report *report)
{
    for (size_t i = 0; i < report_table_count(report); i++)
        if (export_wants_table(options, report_table_at(report, i)->name))
            return 1;
    for (size_t i = 0; i < TABLE_COUNT; i++)
        if (export_wants_table(options, schema_tables[i].name))
            return 1;
    for (size_t i = 0; i < ENUM_COUNT; i++)
        if (export_wants_table(options, schema_enums[i].name))
            return 1;
    return 0;
}

static int complain_tables(const char *pattern, const struct report *report, struct error *err)
{
    size_t count = report_table_count(report);
    const char **names = calloc(count + 1, sizeof *names);

    for (size_t i = 0; names && i < count; i++)
        names[i] = report_table_at(report, i)->name;
    const char *nearest = names ? nearest_name(pattern, names) : NULL;
    if (nearest)
        error_set(err, ERR_BAD_ARGUMENT, "no table matches --tables=%s; did you mean %s?", pattern, nearest);
    else
        error_set(err, ERR_BAD_ARGUMENT, "no table matches --tables=%s; 'tacho sql FILE .tables' lists the tables",
                  pattern);
    free(names);
    return err->code;
}

/* Exports the whole report, or the requested part. */
static int convert_write_part(struct report *report, const char *output, const struct exporter *exporter,
                              const struct convert_settings *settings, struct error *err)
{
    struct export_options options = settings->export;
    const struct selection_item no_report = { 0 };
    struct selection_part part = { 0 };
    struct filter filter = { 0 };
    struct text note = { 0 };
    struct analysis_request request;
    int code;

    if ((code = selection_part_find(&settings->part, report, &part, err)) != 0)
        goto done;
    request = selection_part_request(&part, &no_report);
    if ((code = filter_open(&filter, report, &request, err)) != 0)
        goto done;
    options.filter = filter.only.only || filter.span ? &filter : NULL;
    options.page_folder = install_page_folder();
    options.name = settings->file_name;
    options.note = &note;
    if ((code = export_file(exporter, report, output, settings->overwrite, &options, err)) != 0)
        goto done;
    if (note.length && !settings->quiet)
        fprintf(stderr, "tacho export: %s\n", text_string(&note));
done:
    text_free(&note);
    filter_close(&filter);
    selection_part_free(&part);
    return code;
}

/* Puts the bookmarks beside the report into the page. A file without bookmarks is ignored, and does not prevent the
 * page. */
static int read_bookmarks(struct input input, struct text *out)
{
    struct text path = { 0 };
    struct error err = { 0 };

    input_name(&path, input);
    text_add(&path, ".notes.json");
    int found = access(text_string(&path), F_OK) == 0;
    if (found && notes_read(text_string(&path), out, &err) != 0) {
        fprintf(stderr, "tacho export: the page gets no bookmarks: %s\n", err.text);
        found = 0;
    }
    text_free(&path);
    return found;
}

static int write_export(struct input input, const char *output, const struct exporter *exporter,
                        const struct convert_settings *settings, struct error *err)
{
    struct report *report;
    struct convert_settings own = *settings;
    struct text found = { 0 }, bookmarks = { 0 };
    int code;

    for (size_t i = 0; i < input.count; i++)
        if (output_is_input(output, input.paths[i]))
            return error_set(err, ERR_BAD_ARGUMENT,
                             "cannot write over '%s', the file being exported; name another with "
                             "-o",
                             input.paths[i]);
    if ((code = open_input(input, NULL, &found, &report, err)) != 0)
        goto free_name;
    if (exporter == &export_html && read_bookmarks(input, &bookmarks))
        own.export.bookmarks = &bookmarks;
    if (names_a_table(&settings->export, report))
        code = convert_write_part(report, output, exporter, &own, err);
    else
        code = complain_tables(settings->tables.values[0], report, err);
    close_report(report, text_string(&found));
free_name:
    text_free(&bookmarks);
    text_free(&found);
    return code;
}

/* A set has no name of its own; one without files has another fault. */
static int ask_for_name(const char *const *files, size_t count, struct error *err)
{
    struct set_files found = { 0 };
    struct text name = { 0 };
    int code = set_files_find(&found, files, count, err);

    set_files_free(&found);
    if (code != 0)
        return code;
    input_name(&name, (struct input){ files, count });
    error_set(err, ERR_BAD_ARGUMENT, "'%s' stands for several reports: name the file to write with -o",
              text_string(&name));
    text_free(&name);
    return err->code;
}

static int run_export(const struct command *self, int argc, char **argv)
{
    struct convert_settings settings = { .type = "sqlite", .export.lazy = 1 };
    const struct exporter *exporter;
    struct error err = { 0 };
    const char *files[argc], *output = NULL;
    char *made_up = NULL, ending[64];
    size_t count;
    int status, code;

    if (!prepare_several(self, argc, argv, &settings, files, &count, SIZE_MAX, &status))
        return status;
    settings.file_name = path_base_name(files[0]);
    if ((code = take_export_options(&settings, &exporter, &err)) != 0)
        goto done;
    if (!settings.output && (count > 1 || set_is_meant(files[0]))) {
        code = ask_for_name(files, count, &err);
        goto done;
    }
    snprintf(ending, sizeof ending, "%s%s", exporter->extension, settings.export.gzip ? ".gz" : "");
    made_up = settings.output ? NULL : with_ending(files[0], exporter->folder ? "_" : ".", ending);
    output = settings.output ? settings.output : made_up;
    settings.export.gzip |= exporter->gzips && output && text_ends_with(output, ".gz");
    if (output && strcmp(output, TO_STDOUT) == 0)
        signal(SIGPIPE, SIG_DFL); /* a reader that closes the pipe ends us without a message */
    code = output ? write_export((struct input){ files, count }, output, exporter, &settings, &err)
                  : error_no_memory(&err);
done:
    export_options_free(&settings.export);
    return convert_finish(self, code, &err, &settings, output, made_up);
}

static const struct entry export_examples[] = {
    { "tacho export report1.tacho", "Write report1.sqlite, with the tables that nsys exports." },
    { "tacho export -t perfetto report1.tacho", "Write a trace for ui.perfetto.dev." },
    { "tacho export -t svg --samples=python -o flame.svg report1.tacho", "Draw a flame graph of the Python samples." },
    { "tacho export -t html --max-size=25MB report1.tacho",
      "Write one HTML file with the timeline of the middle of the run." },
    { 0 },
};

const struct command command_export = {
    .name = "export",
    .arguments = "FILE …",
    .summary = "Convert a report to another format",
    .about = "Convert a report to another format. The sqlite format has the tables and columns of nsys's export, so "
             "that scripts for it work unchanged; csv, json, jsonlines and text hold the same tables.",
    .examples = export_examples,
    .options = export_options,
    .variables = "TACHO_PAGE",
    .files = "tacho,sqlite",
    .run = run_export,
};

/* ---- recover --------------------------------------------------------------------------------------------------- */

/* clang-format off */
static const struct option recover_options[] = {
    OUTPUT_ROW("Report to write. Default: FILE with the extension .recovered.tacho, in its directory."), OVERWRITE_ROW,
    QUIET_ROW, { 0 },
};
/* clang-format on */

/* Reports the losses that a repair cannot undo, such as events that a full disk had no room for, and stacks that were
 * not written yet. */
static void say_what_was_lost(const char *path, int is_quiet)
{
    struct report *report;
    struct missing_stacks missing[MISSING_STACKS_MAX];
    size_t count;
    struct text sentence = { 0 };
    struct error err;

    if (report_open(path, &report, &err) != 0)
        return;
    if (missing_stacks_read(missing, &count, report, &err) == 0)
        missing_stacks_describe(&sentence, missing, count);
    if (sentence.length && !is_quiet)
        printf("Missing: %s.\n", text_string(&sentence));
    text_free(&sentence);
    tell_losses(report, path, LOSSES_OF_ALL);
    report_close(report);
}

static void say_what_was_found(const struct report_health *health)
{
    if (health->damaged_chunks)
        printf("%llu damaged chunk%s (%llu bytes) %s skipped.\n", (unsigned long long)health->damaged_chunks,
               health->damaged_chunks == 1 ? "" : "s", (unsigned long long)health->damaged_bytes,
               health->damaged_chunks == 1 ? "was" : "were");
    if (health->cut_bytes)
        printf("%llu bytes of an incomplete chunk at the end were skipped.\n", (unsigned long long)health->cut_bytes);
    if (health->complete && !health->damaged_chunks)
        printf("The report was complete.\n");
    else if (!health->damaged_chunks)
        printf("Nothing was damaged; only the end of the report was missing.\n");
}

static int recover_file(const char *file, const char *output, const struct convert_settings *settings,
                        struct error *err)
{
    struct report_health health = { 0 };
    int code;

    if ((code = refuse_stdout(output, err)) != 0)
        return code;
    if ((code = report_recover(file, output, settings->overwrite, &health, err)) != 0)
        return code;
    if (!settings->quiet)
        say_what_was_found(&health);
    say_what_was_lost(output, settings->quiet);
    return 0;
}

static int run_recover(const struct command *self, int argc, char **argv)
{
    struct convert_settings settings = { 0 };
    struct error err = { 0 };
    const char *file;
    int status;

    if (!convert_prepare(self, argc, argv, &settings, &file, &status))
        return status;
    char *made_up = settings.output ? NULL : with_ending(file, ".", "recovered.tacho");
    const char *output = settings.output ? settings.output : made_up;
    int code = output ? recover_file(file, output, &settings, &err) : error_no_memory(&err);
    return convert_finish(self, code, &err, &settings, output, made_up);
}

static const struct entry recover_examples[] = {
    { "tacho recover report1.tacho", "Write report1.recovered.tacho from a damaged or unfinished report." },
    { 0 },
};

const struct command command_recover = {
    .name = "recover",
    .arguments = "FILE",
    .summary = "Repair a damaged or unfinished report",
    .about = "Copy everything readable in a damaged or unfinished report to a new one. The other commands open such "
             "reports too; the copy makes the repair permanent.",
    .examples = recover_examples,
    .options = recover_options,
    .files = "tacho",
    .run = run_recover,
};
