/* tacho summary: the last lines of `tacho profile` once more, for any report. */
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cmd/command.h"
#include "cmd/open_report.h"
#include "cmd/print/print.h"
#include "summary_lines.h"

static const struct option options[] = { { 0 } };

/* The size of the file that the user names: an import is a report of another size. */
static uint64_t size_of(const char *path, const struct report *report)
{
    struct stat status;

    return stat(path, &status) == 0 ? (uint64_t)status.st_size : report_health(report).file_bytes;
}

static int print_summary(const struct command *self, const char *path, struct error *err)
{
    struct summary_request request = { .finish_ns = -1,
                                       .colours = isatty(STDOUT_FILENO) && !getenv("NO_COLOR"),
                                       .columns = print_terminal_columns(STDOUT_FILENO) };
    struct text found = { 0 }, out = { 0 };
    int status;

    if (open_report_as(path, &found, &request.report, err) != 0) {
        status = command_fail(self, err);
        goto free_texts;
    }
    request.report_path = text_string(&found);
    request.report_bytes = size_of(text_string(&found), request.report);
    status = summary_add(&out, &request, err) != 0 ? command_fail(self, err) : command_write(self, &out);
    tell_damage(request.report, text_string(&found));
    report_close(request.report);
free_texts:
    text_free(&found);
    text_free(&out);
    return status;
}

static int run(const struct command *self, int argc, char **argv)
{
    struct error err = { 0 };
    const char *files[argc];
    size_t count;
    int status;

    if (!command_options(self, argc, argv, NULL, files, &count, &status))
        return status;
    if (count == 0) {
        error_set(&err, ERR_BAD_ARGUMENT, "no report given: tacho summary report1.tacho");
        return command_fail(self, &err);
    }
    for (size_t i = 0; i < count && status == EXIT_OK; i++)
        status = print_summary(self, files[i], &err);
    return status;
}

static const struct entry examples[] = {
    { "tacho summary report1.tacho", "Print the last lines of the capture again." },
    { "tacho summary mix.sqlite trace.json.gz", "Summarize an export of nsys and a trace of torch.profiler." },
    { 0 },
};

const struct command command_summary = {
    .name = "summary",
    .arguments = "FILE …",
    .summary = "Print the last lines of `tacho profile` again, for any report",
    .about = "Print how the program ended, the causes that cost most time, where the time went, and the command to "
             "run next. FILE is a .tacho report, a trace of torch.profiler or an SQLite export of nsys. `tacho FILE` "
             "does the same.",
    .examples = examples,
    .options = options,
    .files = "tacho,sqlite,json,gz,zst",
    .run = run,
};
