/* tacho import, export and recover: from file to file. */
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../export/export.h"
#include "../import/import.h"
#include "command.h"
#include "open.h"

struct settings {
    const char *output, *type;
    int overwrite, quiet;
};

#define FIELD(name) offsetof(struct settings, name)
#define OUTPUT_ROW(text)                                                                                             \
    { .name = "output", .letter = 'o', .kind = OPTION_TEXT, .offset = FIELD(output), .value = "FILE", .help = text }
#define OVERWRITE_ROW                                                                                                \
    { .name = "force-overwrite", .letter = 'f', .kind = OPTION_BOOL, .offset = FIELD(overwrite),                      \
      .help = "Replace a file that is there already." }
#define QUIET_ROW                                                                                                    \
    { .name = "quiet", .letter = 'q', .kind = OPTION_BOOL, .offset = FIELD(quiet), .help = "Say nothing when all is well." }

/* "dir/name.sqlite" to "dir/name.tacho"; allocated. NULL when memory is short. */
static char *with_extension(const char *path, const char *extension)
{
    const char *name = strrchr(path, '/');
    const char *dot = strrchr(name ? name : path, '.');
    size_t length = dot && dot != (name ? name + 1 : path) ? (size_t)(dot - path) : strlen(path);
    char *out = malloc(length + strlen(extension) + 2);

    if (out)
        sprintf(out, "%.*s.%s", (int)length, path, extension);
    return out;
}

/* Parses, checks that there is one file, and makes up the output's name where none was given. Returns 1 to go on. */
static int prepare(const struct command *self, int argc, char **argv, struct settings *settings, const char **file, int *status)
{
    const char *files[argc];
    size_t count;
    struct error err;

    if (!command_options(self, argc, argv, settings, files, &count, status))
        return 0;
    if (count != 1) {
        error_set(&err, ERR_BAD_ARGUMENT, count ? "one file at a time" : "name a file");
        *status = command_fail(self, &err);
        return 0;
    }
    *file = files[0];
    return 1;
}

/* Says where the result is, unless told to be quiet; frees the made-up name. */
static int finish(const struct command *self, int code, const struct error *err, const struct settings *settings,
                  const char *output, char *made_up)
{
    if (code != 0)
        command_fail(self, err);
    else if (!settings->quiet)
        printf("%s\n", output);
    free(made_up);
    return code == 0 ? EXIT_OK : code == ERR_BAD_ARGUMENT ? EXIT_USAGE : EXIT_FAILED;
}

/* ---- import -------------------------------------------------------------------------------------------------- */

static const struct option import_options[] = {
    OUTPUT_ROW("The report to write. Default: FILE with the ending .tacho."), OVERWRITE_ROW, QUIET_ROW, {0},
};

static int run_import(const struct command *self, int argc, char **argv)
{
    struct settings settings = {0};
    struct error err = {0};
    const char *file;
    int status;

    if (!prepare(self, argc, argv, &settings, &file, &status))
        return status;
    const struct importer *importer = importer_for(file);
    char *made_up = settings.output ? NULL : with_extension(file, "tacho");
    const char *output = settings.output ? settings.output : made_up;
    int code;
    if (!output)
        code = error_set(&err, ERR_NO_MEMORY, "out of memory");
    else if (!importer)
        code = error_set(&err, ERR_BAD_FORMAT, "'%s' cannot be read, or is not a file that can be imported (the SQLite "
                         "export of nsys is)", file);
    else
        code = importer->import(file, output, settings.overwrite, &err);
    return finish(self, code, &err, &settings, output, made_up);
}

const struct command command_import = {
    .name = "import", .arguments = "FILE", .summary = "make a report from another profiler's file",
    .about = "Makes a .tacho report from the SQLite export of nsys (nsys export --type sqlite). Other commands read such files "
             "directly; an import is smaller and opens faster.",
    .options = import_options, .files = "sqlite", .run = run_import,
};

/* ---- export -------------------------------------------------------------------------------------------------- */

static const char *const *type_names(void)
{
    static const char *names[16];

    for (size_t i = 0; exporters[i] && i + 1 < 16; i++)
        names[i] = exporters[i]->name;
    return names;
}

static const struct option export_options[] = {
    { .name = "type", .letter = 't', .kind = OPTION_CHOICE, .offset = FIELD(type), .value = "TYPE", .choices = type_names,
      .help = "What to make of it. Default: sqlite." },
    OUTPUT_ROW("The file to write. Default: FILE with the ending of the type."),
    OVERWRITE_ROW,
    QUIET_ROW,
    { .name = "lazy", .letter = 'l', .kind = OPTION_IGNORED, .value = "BOOL",
      .help = "tables without rows are left out" },
    { .name = "include-blobs", .kind = OPTION_IGNORED, .value = "BOOL",
      .help = "binary payloads are always included" },
    { .name = "include-json", .kind = OPTION_IGNORED, .value = "BOOL",
      .help = "JSON payloads are always included" },
    { .name = "separate-strings", .kind = OPTION_IGNORED, .value = "BOOL",
      .help = "strings are always in StringIds" },
    {0},
};

static int run_export(const struct command *self, int argc, char **argv)
{
    struct settings settings = { .type = "sqlite" };
    struct error err = {0};
    struct report *report;
    const char *file;
    int status;

    if (!prepare(self, argc, argv, &settings, &file, &status))
        return status;
    const struct exporter *exporter = exporter_find(settings.type);
    char *made_up = settings.output ? NULL : with_extension(file, exporter->extension);
    const char *output = settings.output ? settings.output : made_up;
    int code = output ? 0 : error_set(&err, ERR_NO_MEMORY, "out of memory");
    if (code == 0 && strcmp(output, file) == 0)
        code = error_set(&err, ERR_BAD_ARGUMENT, "the output would replace '%s' itself; name another with -o", file);
    if (code == 0)
        code = open_report(file, &report, &err);
    if (code == 0) {
        code = export_file(exporter, report, output, settings.overwrite, &err);
        report_close(report);
    }
    return finish(self, code, &err, &settings, output, made_up);
}

const struct command command_export = {
    .name = "export", .arguments = "FILE", .summary = "make a file for other tools from a report",
    .about = "Writes a report in another format. SQLite has the tables and columns of nsys's own export, so that scripts written "
             "for it work unchanged.",
    .options = export_options, .files = "tacho,sqlite", .run = run_export,
};

/* ---- recover ------------------------------------------------------------------------------------------------- */

static const struct option recover_options[] = {
    OUTPUT_ROW("The report to write. Default: FILE with the ending .recovered.tacho."), OVERWRITE_ROW, QUIET_ROW, {0},
};

static int run_recover(const struct command *self, int argc, char **argv)
{
    struct settings settings = {0};
    struct report_health health = {0};
    struct error err = {0};
    const char *file;
    int status;

    if (!prepare(self, argc, argv, &settings, &file, &status))
        return status;
    char *made_up = settings.output ? NULL : with_extension(file, "recovered.tacho");
    const char *output = settings.output ? settings.output : made_up;
    int code = output ? report_recover(file, output, settings.overwrite, &health, &err)
                      : error_set(&err, ERR_NO_MEMORY, "out of memory");
    if (code == 0 && !settings.quiet) {
        if (health.complete && !health.damaged_chunks)
            printf("The report was whole.\n");
        else if (health.damaged_chunks || health.damaged_bytes)
            printf("%llu damaged chunks and %llu bytes were left out.\n", (unsigned long long)health.damaged_chunks,
                   (unsigned long long)health.damaged_bytes);
        else
            printf("Nothing was damaged; the report lacked its end.\n");
    }
    return finish(self, code, &err, &settings, output, made_up);
}

const struct command command_recover = {
    .name = "recover", .arguments = "FILE", .summary = "make a whole report of a damaged or unfinished one",
    .about = "Copies all that can be read of a report to a new one. Other commands open such reports too; this makes the repair last.",
    .options = recover_options, .files = "tacho", .run = run_recover,
};
