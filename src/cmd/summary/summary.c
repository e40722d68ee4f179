/* tacho summary: the last lines of `tacho profile` once more, for any report; or all that matters on a page of HTML. */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "analyze/model/flops/gpu_peaks.h"
#include "cmd/command.h"
#include "cmd/open_report.h"
#include "cmd/output.h"
#include "cmd/print/print_human.h"
#include "html_summary.h"
#include "summary_lines.h"

struct summary_cmd_settings {
    const char *output, *peaks;
    int overwrite, each;
};

/* clang-format off */
static const struct option summary_cmd_options[] = {
    { .name = "output", .letter = 'o', .kind = OPTION_TEXT, .offset = offsetof(struct summary_cmd_settings, output),
      .value = "FILE",
      .help = "Write the summary to FILE as one page of HTML, to read, print and send: utilization, advice, the parts "
              "of a step, tensor cores, roofline, top ten, memory, system. '-' is stdout." },
    { .name = "force-overwrite", .letter = 'f', .kind = OPTION_BOOL, .offset = offsetof(struct summary_cmd_settings,
      overwrite), .help = "Overwrite an existing file. Default: false." },
    { .name = "peak", .kind = OPTION_TEXT, .offset = offsetof(struct summary_cmd_settings, peaks),
      .value = "TYPE=RATE,…",
      .help = "Peaks of the GPU for MFU and roofline, in TFLOP/s, and GB/s for memory: bf16=989,memory=4800. Default: "
              "those of the GPU." },
    EACH_OPTION(struct summary_cmd_settings, each),
    { 0 },
};
/* clang-format on */

/* The size of the file that the user names: an import is a report of another size. */
static uint64_t summary_cmd_size_of(const char *path, const struct report *report)
{
    struct stat status;

    return stat(path, &status) == 0 && S_ISREG(status.st_mode) ? (uint64_t)status.st_size
                                                               : report_health(report).file_bytes;
}

static int print_summary(const struct command *self, struct input input, const struct summary_cmd_settings *settings,
                         struct error *err)
{
    const struct print_request people = output_human_request();
    struct summary_request request = {
        .finish_ns = -1, .peaks = settings->peaks, .colours = people.colour, .columns = print_human_columns(&people)
    };
    struct text found = { 0 }, out = { 0 };
    int status;

    if (open_input(input, NULL, &found, &request.report, err) != 0) {
        status = command_fail(self, err);
        goto free_texts;
    }
    request.report_path = text_string(&found);
    request.report_bytes = summary_cmd_size_of(text_string(&found), request.report);
    status = summary_add(&out, &request, err) != 0 ? command_fail(self, err) : command_write(self, &out);
    tell_damage(request.report, text_string(&found));
    report_close(request.report);
free_texts:
    text_free(&found);
    text_free(&out);
    return status;
}

/* ---- HTML ------------------------------------------------------------------------------------------------------ */

/* The page of an open report, to a file or to stdout. */
static int write_page(const struct command *self, const struct html_request *request,
                      const struct summary_cmd_settings *settings, struct error *err)
{
    struct text out = { 0 };
    int status = EXIT_OK, code = html_summary_add(&out, request, err);

    if (code != 0)
        goto free_text;
    if (text_failed(&out))
        code = error_no_memory(err);
    else if (strcmp(settings->output, "-") == 0)
        status = command_write(self, &out);
    else
        code = output_write_file(settings->output, settings->overwrite, "force-overwrite", &out, err);
free_text:
    text_free(&out);
    return code != 0 ? command_fail(self, err) : status;
}

static int write_summary(const struct command *self, struct input input, const struct summary_cmd_settings *settings,
                         struct error *err)
{
    struct html_request request = { .peaks = settings->peaks };
    struct text found = { 0 };
    int status;

    if (open_input(input, NULL, &found, &request.report, err) != 0) {
        status = command_fail(self, err);
        goto free_found;
    }
    request.path = text_string(&found);
    status = write_page(self, &request, settings, err);
    tell_damage(request.report, text_string(&found));
    report_close(request.report);
free_found:
    text_free(&found);
    return status;
}

static int summary_cmd_run(const struct command *self, int argc, char **argv)
{
    struct summary_cmd_settings settings = { 0 };
    struct error err = { 0 };
    const char *files[argc];
    size_t count;
    int status;

    if (!command_options(self, argc, argv, &settings, files, &count, &status))
        return status;
    if (count == 0) {
        error_set(&err, ERR_BAD_ARGUMENT, "no report given: tacho summary report1.tacho");
        return command_fail(self, &err);
    }
    if (settings.output && input_count(count, settings.each) > 1) {
        error_set(&err, ERR_BAD_ARGUMENT, "--output takes no --each: a page has one capture, or one set of them");
        return command_fail(self, &err);
    }
    if (settings.peaks && gpu_peaks_set(&(struct gpu_peaks){ 0 }, settings.peaks, &err) != 0)
        return command_fail(self, &err);
    for (size_t i = 0; i < input_count(count, settings.each) && status == EXIT_OK; i++)
        status = (settings.output ? write_summary : print_summary)(self, input_at(files, count, settings.each, i),
                                                                   &settings, &err);
    return status;
}

static const struct entry summary_cmd_examples[] = {
    { "tacho summary report1.tacho", "Print the last lines of the capture again." },
    { "tacho summary -o report1.html report1.tacho", "Write a page of HTML, to print or send." },
    { "tacho summary --each mix.sqlite trace.json.gz", "Summarize an export of nsys and a trace of torch.profiler." },
    { 0 },
};

const struct command command_summary = {
    .name = "summary",
    .arguments = "FILE …",
    .summary = "Print the last lines of `tacho profile` again, for any report",
    .about = "Print how the program ended, the causes that cost most time, where the time went, and the command to "
             "run next; or, with --output, all that matters as a page of HTML. FILE is a .tacho report, a trace of "
             "torch.profiler or an SQLite export of nsys. `tacho FILE` "
             "does the same.",
    .examples = summary_cmd_examples,
    .options = summary_cmd_options,
    .files = "tacho,sqlite,json,gz,zst",
    .run = summary_cmd_run,
};
