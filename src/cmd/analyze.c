/* tacho analyze: rules that look for what commonly costs time, with advice in words. */
#include "analyze/engine/analysis.h"
#include "analyze/registry.h"
#include "run_reports.h"

struct settings {
    struct run_reports_settings show;
    const char *help_rules;
    int help_formats;
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

#define FIELD(name) offsetof(struct settings, name)
/* clang-format off */
static const struct option options[] = {
    { .name = "rule", .letter = 'r', .kind = OPTION_LIST, .offset = FIELD(show.names), .value = "NAME[:OPTION…]",
      .choices = rule_names,
      .help = "Rule to run, with its options; repeat it, or separate several with commas. Default: all rules." },
    DELIVER_OPTIONS(struct settings, show.deliver),
    PART_OPTIONS(struct settings, show.part),
    NSYS_REP_OPTIONS(struct settings, show.input),
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

static int add_all(struct selection_list *list, struct report *report, int for_people, struct text *lacking,
                   struct error *err)
{
    const struct analysis *sum = analysis_find("advice_sum"); /* what to read first */

    if (!analysis_missing(sum, report) && selection_add(list, sum, err) != 0)
        return err->code;
    for (const struct analysis *const *at = rules; *at; at++)
        if (!(*at)->find && selection_add(list, *at, err) != 0) /* advice_sum has all that these find */
            return err->code;
    return 0;
}

static int run(const struct command *self, int argc, char **argv)
{
    static const struct run_reports_registry registry = { rules, rule_find, "rule", "Nothing found by", add_all };
    struct settings settings = { 0 };
    const char *files[argc];
    size_t file_count;
    int status;

    if (!command_options(self, argc, argv, &settings, files, &file_count, &status))
        return status;
    if (settings.help_rules || settings.help_formats)
        return run_reports_help(self, &registry, settings.help_rules, settings.help_formats);
    return run_reports_files(self, &settings.show, &registry, files, file_count);
}

static const struct entry examples[] = {
    { "tacho analyze report1.tacho", "Run all rules." },
    { "tacho analyze -r gpu_gaps:gap=10 report1.tacho", "Find gaps of 10 ms or more without GPU work." },
    { 0 },
};

const struct command command_analyze = {
    .name = "analyze",
    .arguments = "FILE …",
    .summary = "Check for common performance problems and print advice",
    .about = "Check a report for common performance problems and print advice. FILE is a .tacho report, a trace of "
             "torch.profiler or an SQLite export of nsys. For a .nsys-rep, tacho reads the export beside it, or has "
             "nsys make one.",
    .examples = examples,
    .options = options,
    .files = "tacho,sqlite",
    .run = run,
};
