/* tacho merge: several reports as one file. */
#include <stdio.h>
#include <string.h>

#include "cmd/command.h"
#include "cmd/open_report.h"
#include "cmd/output.h"
#include "report/writer/merge_report.h"
#include "set/set.h"

struct merge_settings {
    const char *output;
    int overwrite, quiet;
    struct foreign_rep_settings input;
};

/* clang-format off */
static const struct option merge_options[] = {
    { .name = "output", .letter = 'o', .kind = OPTION_TEXT, .offset = offsetof(struct merge_settings, output),
      .value = "FILE", .help = "Report to write." },
    { .name = "force-overwrite", .letter = 'f', .kind = OPTION_BOOL, .offset = offsetof(struct merge_settings,
      overwrite), .help = "Overwrite an existing file. Default: false." },
    { .name = "quiet", .letter = 'q', .kind = OPTION_BOOL, .offset = offsetof(struct merge_settings, quiet),
      .help = "Print nothing on success. Default: false." },
    FOREIGN_REP_OPTIONS(struct merge_settings, input),
    { 0 },
};
/* clang-format on */

/* A folder may hold the file of an earlier merge, and must not get one: all its rows would be read twice from then on.
 */
static int refuse_own_parts(const struct report *set, struct input input, const char *output, struct error *err)
{
    for (size_t i = 0; i < report_part_count(set); i++)
        if (output_is_input(output, report_part_at(set, i)->name))
            return error_set(err, ERR_BAD_ARGUMENT,
                             "'%s' is one of the reports to merge; name another with -o, or remove it", output);
    for (size_t i = 0; i < input.count; i++)
        if (set_takes(input.paths[i], output))
            return error_set(err, ERR_BAD_ARGUMENT,
                             "'%s' would be read as one more report of '%s'; name a file outside of it with -o", output,
                             input.paths[i]);
    return 0;
}

static int merge(struct input input, const struct merge_settings *settings, struct error *err)
{
    struct report *set;
    struct text found = { 0 };
    int code = open_input(input, &settings->input, &found, &set, err);

    if (code != 0)
        goto free_name;
    if ((code = refuse_own_parts(set, input, settings->output, err)) != 0)
        goto close_set;
    code = report_merge(set, settings->output, settings->overwrite, err);
close_set:
    close_report(set, text_string(&found));
free_name:
    text_free(&found);
    return code;
}

static int merge_run(const struct command *self, int argc, char **argv)
{
    struct merge_settings settings = { .input.by = "rank" }; /* a single file is read as a set, too */
    const char *files[argc];
    struct error err = { 0 };
    size_t count;
    int status;

    if (!command_options(self, argc, argv, &settings, files, &count, &status))
        return status;
    if (!count || !settings.output)
        error_set(&err, ERR_BAD_ARGUMENT, "%s: tacho merge -o all.tacho run/",
                  count ? "no name for the report to write" : "no reports given");
    else
        merge((struct input){ files, count }, &settings, &err);
    if (err.code)
        return command_fail(self, &err);
    if (!settings.quiet)
        printf("%s\n", settings.output);
    return EXIT_OK;
}

static const struct entry merge_examples[] = {
    { "tacho merge -o all.tacho run/", "Write one report of all ranks of a job." },
    { "tacho merge -o some.tacho --filter-rank 0,8-15 run/", "Write one report of some ranks." },
    { 0 },
};

const struct command command_merge = {
    .name = "merge",
    .arguments = "-o FILE FILE …",
    .summary = "Write several reports as one",
    .about = "Write the reports of a job as one file, on one clock, which answers as the folder does: every table has "
             "the columns rank and host. FILE is a .tacho report, a trace of torch.profiler or an SQLite export of "
             "nsys, a folder or a pattern of them.",
    .examples = merge_examples,
    .options = merge_options,
    .files = "tacho,sqlite,json,gz,zst",
    .run = merge_run,
};
