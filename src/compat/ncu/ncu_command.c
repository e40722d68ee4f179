/* The command: its options, under ncu's names, and the options that print lists. */
#include "ncu_command.h"

#include <string.h>
#include <unistd.h>

#include "abi/counters/counter_sections.h"
#include "abi/counters/name_pattern.h"

static const char *const *ncu_command_set_names(void)
{
    static const char *names[COUNTER_SET_COUNT + 1];
    for (size_t i = 0; i < COUNTER_SET_COUNT; i++)
        names[i] = counter_sets[i].name;
    return names;
}

/* One function for each option that tacho ncu refuses. */
#define IGNORED(option, key, kind, why)
#define REFUSED(id, option, why)                                                                                       \
    static int refuse_##id(void *settings, const char *value, struct error *err)                                       \
    {                                                                                                                  \
        return error_set(err, ERR_BAD_ARGUMENT, "--%s is not supported: %s", option, why);                             \
    }
#include "ncu_foreign.def"
#undef IGNORED
#undef REFUSED

#define FIELD(name) offsetof(struct ncu_settings, name)
/* clang-format off */
static const struct option ncu_command_options[] = {
    { .name = "import", .letter = 'i', .kind = OPTION_TEXT, .offset = FIELD(import), .value = "FILE",
      .help = "Report with counters of kernels to print: .tacho, .ncu-rep or a CSV of ncu." },
    { .name = "csv", .kind = OPTION_FLAG, .offset = FIELD(csv),
      .help = "Print comma-separated values, not tables for people." },
    { .name = "page", .kind = OPTION_CHOICE, .offset = FIELD(page), .value = "PAGE", .words = ncu_pages,
      .help = "Page to print: details (a row per metric) or raw (a column per metric). Default: details." },
    { .name = "print-units", .kind = OPTION_CHOICE, .offset = FIELD(print_units), .value = "UNITS",
      .words = ncu_units,
      .help = "Units of values: auto (scaled to their size: us, Kbyte) or base (ns, byte). Default: auto." },
    { .name = "print-summary", .kind = OPTION_CHOICE, .offset = FIELD(print_summary), .value = "KIND",
      .words = ncu_summaries,
      .help = "Print minimum, maximum and average instead of each launch: none, per-gpu, per-kernel or per-nvtx. "
              "Default: none." },
    { .name = "list-sets", .kind = OPTION_FLAG, .offset = FIELD(list_sets),
      .help = "List the sets: their sections, and about how many metrics." },
    { .name = "list-sections", .kind = OPTION_FLAG, .offset = FIELD(list_sections),
      .help = "List the sections." },
    { .name = "list-metrics", .kind = OPTION_FLAG, .offset = FIELD(list_metrics),
      .help = "List the metrics of --set, --section and --metrics; with --chips, as that chip has them, with the "
              "passes." },
    { .name = "list-chips", .kind = OPTION_FLAG, .offset = FIELD(list_chips),
      .help = "List the chips whose counters CUPTI knows." },
    { .name = "query-metrics", .kind = OPTION_FLAG, .offset = FIELD(query_metrics),
      .help = "List all metrics of the first GPU, or of --chips." },
    { .name = "query-metrics-mode", .kind = OPTION_CHOICE, .offset = FIELD(query_mode), .value = "MODE",
      .help = "Names to list: base (default), suffix (all names of --metrics), all.",
      .words = OPTION_WORDS("base", "suffix", "all") },
    { .name = "query-metrics-collection", .kind = OPTION_CHOICE, .offset = FIELD(query_collection), .value = "WAY",
      .help = "Metrics to list: of kernels (profiling, default), or over time (pmsampling).",
      .words = OPTION_WORDS("profiling", "pmsampling") },
    { .name = "chips", .kind = OPTION_TEXT, .offset = FIELD(chips), .value = "LIST",
      .help = "Chips for the lists, such as GH100,GB202 (default: that of the first GPU)." },
    { .name = "chip", .kind = OPTION_TEXT, .offset = FIELD(chips), .value = "CHIP",
      .help = "The same as --chips.", .hidden = 1 },
    { .name = "set", .kind = OPTION_LIST, .offset = FIELD(sets), .value = "SET",
      .help = "Set of sections (default: basic); may be repeated.", .choices = ncu_command_set_names },
    { .name = "section", .kind = OPTION_LIST, .offset = FIELD(sections), .value = "SECTION",
      .help = "Section, or regex:EXPRESSION to search for in their names; may be repeated." },
    { .name = "metrics", .kind = OPTION_LIST, .offset = FIELD(metrics), .value = "LIST",
      .help = "Metrics, with commas between them: names with or without a suffix, regex:EXPRESSION." },
    { .name = "kernel-name", .letter = 'k', .kind = OPTION_TEXT, .offset = FIELD(kernel_name), .value = "NAME",
      .help = "Count kernels of this name, or regex:EXPRESSION to search for in names." },
    { .name = "kernel-name-base", .kind = OPTION_CHOICE, .offset = FIELD(kernel_name_base), .value = "BASE",
      .words = OPTION_WORDS("function", "mangled", "demangled"),
      .help = "Name that --kernel-name and --kernel-id match: function (without scope, template arguments and "
              "parameters) or mangled. Default: function." },
    { .name = "kernel-id", .kind = OPTION_TEXT, .offset = FIELD(kernel_id), .value = "ID",
      .help = "Count kernels of CONTEXT:STREAM:[regex:]NAME:INVOCATION; each part may be empty." },
    { .name = "launch-skip", .letter = 's', .kind = OPTION_TEXT, .offset = FIELD(launch_skip), .value = "N",
      .help = "Skip the first N launches that match. Default: 0." },
    { .name = "launch-count", .letter = 'c', .kind = OPTION_TEXT, .offset = FIELD(launch_count), .value = "N",
      .help = "Count at most N launches. Default: no limit." },
    { .name = "launch-skip-before-match", .kind = OPTION_TEXT, .offset = FIELD(skip_before), .value = "N",
      .help = "Skip the first N launches, whether they match or not. Default: 0." },
    { .name = "filter-mode", .kind = OPTION_CHOICE, .offset = FIELD(filter_mode), .value = "MODE",
      .words = OPTION_WORDS("global", "per-gpu", "per-launch-config"),
      .help = "Apply --launch-skip and --launch-count to all launches (global), per-gpu, or per-launch-config. "
              "Default: global." },
    { .name = "devices", .kind = OPTION_TEXT, .offset = FIELD(devices), .value = "LIST",
      .help = "Count kernels on these GPUs, by CUDA's numbers. Default: all." },
    { .name = "device", .kind = OPTION_TEXT, .offset = FIELD(devices), .value = "LIST",
      .help = "The same as --devices.", .hidden = 1 },
    { .name = "nvtx", .kind = OPTION_FLAG, .offset = FIELD(nvtx),
      .help = "Record NVTX ranges, for --print-summary per-nvtx." },
    { .name = "nvtx-include", .kind = OPTION_LIST, .offset = FIELD(nvtx_include), .value = "[DOMAIN@]RANGE[/]",
      .help = "Count only launches in this NVTX range: RANGE/ is a push/pop range of the thread, RANGE a start/end "
              "range. May be repeated: any of them. Lists, positions in the stack and expressions are refused." },
    { .name = "nvtx-exclude", .kind = OPTION_LIST, .offset = FIELD(nvtx_exclude), .value = "[DOMAIN@]RANGE[/]",
      .help = "Do not count launches in this NVTX range. May be repeated." },
    { .name = "range-filter", .kind = OPTION_TEXT, .offset = FIELD(range_filter), .value = ":LIST:LIST",
      .help = "Count only in these instances of ranges that cudaProfilerStart() begins, and of ranges of "
              "--nvtx-include, such as :2: or ::[1-3],7." },
    { .name = "profile-from-start", .kind = OPTION_BOOL, .offset = FIELD(from_start),
      .help = "Count from the start of the program. false: only between cudaProfilerStart() and cudaProfilerStop(). "
              "Default: true." },
    { .name = "replay-mode", .kind = OPTION_CHOICE, .offset = FIELD(replay_mode), .value = "MODE",
      .words = OPTION_WORDS("kernel", "application", "range", "app-range"),
      .help = "Collect metrics that need several passes by replay of each kernel, with its memory restored (kernel), "
              "or by a run of the program for each pass (application). Default: kernel, or no replay if one pass is "
              "enough." },
    { .name = "cache-control", .kind = OPTION_CHOICE, .offset = FIELD(cache_control), .value = "WHAT",
      .words = OPTION_WORDS("all", "none"),
      .help = "Control of the caches between passes. Only none is supported; all is accepted with a note. Default: "
              "none." },
    { .name = "clock-control", .kind = OPTION_CHOICE, .offset = FIELD(clock_control), .value = "WHAT",
      .words = OPTION_WORDS("base", "none", "boost", "force-boost", "reset"),
      .help = "Control of the GPU's clocks. Only none is supported; other values are accepted with a note. Default: "
              "none." },
    { .name = "target-processes", .kind = OPTION_CHOICE, .offset = FIELD(target_processes), .value = "WHICH",
      .words = OPTION_WORDS("all", "application-only"),
      .help = "Processes whose kernels are counted. Only all is supported; application-only is accepted with a note. "
              "Default: all." },
    { .name = "max-time", .kind = OPTION_TEXT, .offset = FIELD(max_time), .value = "SECONDS",
      .help = "Stop counting after SECONDS; the program goes on. Default: no limit." },
    { .name = "export", .letter = 'o', .kind = OPTION_TEXT, .offset = FIELD(export), .value = "NAME",
      .help = "Write the report to NAME.tacho, and print nothing unless --page or --csv is given. Default: the report "
              "is temporary." },
    { .name = "force-overwrite", .letter = 'f', .kind = OPTION_FLAG, .offset = FIELD(overwrite),
      .help = "Overwrite an existing report." },
    { .name = "log-file", .kind = OPTION_TEXT, .offset = FIELD(log_file), .value = "FILE",
      .help = "Print to FILE, or to stdout or stderr. Default: stdout." },
    { .name = "quiet", .kind = OPTION_FLAG, .offset = FIELD(quiet), .help = "Print no notes." },
#define IGNORED(option, key, kind_of_value, why) \
    { .name = option, .letter = key, .kind = OPTION_IGNORED, .value = kind_of_value, .help = why },
#define REFUSED(id, option, why) \
    { .name = option, .kind = OPTION_CUSTOM, .value = "VALUE", .take = refuse_##id, .hidden = 1, .help = why },
#include "ncu_foreign.def"
#undef IGNORED
#undef REFUSED
    { 0 },
};
/* clang-format on */
#undef FIELD

/* ---- What is wrong --------------------------------------------------------------------------------------------- */

/* regex:EXPRESSION becomes the names of the sections that it matches. */
static int expand_sections(struct option_list *list, struct error *err)
{
    static struct name_pattern pattern; /* one of them is large, and there is one command */
    struct option_list out = { .count = 0 };

    for (size_t i = 0; i < list->count; i++) {
        const char *value = list->values[i];
        size_t before = out.count;
        if (strncmp(value, "regex:", 6) != 0) {
            out.values[out.count++] = value;
            continue;
        }
        const char *wrong = name_pattern_read(&pattern, value, strlen(value));
        if (wrong)
            return error_set(err, ERR_BAD_ARGUMENT, "cannot use --section '%s': %s", value, wrong);
        for (const struct counter_section *section = counter_sections; section->name; section++)
            if (name_pattern_matches(&pattern, section->name, strlen(section->name)) &&
                out.count + (list->count - i) < OPTION_LIST_MAX)
                out.values[out.count++] = section->name;
        if (out.count == before)
            return error_set(err, ERR_BAD_ARGUMENT, "no section matches '%s' (--list-sections)", value);
    }
    *list = out;
    return 0;
}

static int ncu_command_check(struct ncu_settings *settings, struct error *err)
{
    if (settings->page && strcmp(settings->page, "source") == 0)
        return error_set(err, ERR_BAD_ARGUMENT,
                         "--page source is not supported: 'tacho profile --pc-sampling' counts the stalls of source "
                         "lines");
    for (size_t i = 0; i < settings->sets.count; i++)
        if (!counter_set_find(settings->sets.values[i]))
            return error_set(err, ERR_BAD_ARGUMENT, "there is no set '%s' (--list-sets)", settings->sets.values[i]);
    if (expand_sections(&settings->sections, err) != 0)
        return err->code;
    for (size_t i = 0; i < settings->sections.count; i++)
        if (!counter_section_find(settings->sections.values[i]))
            return error_set(err, ERR_BAD_ARGUMENT, "there is no section '%s' (--list-sections)",
                             settings->sections.values[i]);
    return 0;
}

/* Options that say how a program is run mean nothing for a report that is there. */
static int check_import(const struct ncu_settings *settings, struct error *err)
{
    const struct {
        const char *name;
        int is_given;
    } of_programs[] = {
        { "nvtx-include", settings->nvtx_include.count > 0 },
        { "nvtx-exclude", settings->nvtx_exclude.count > 0 },
        { "range-filter", settings->range_filter != NULL },
        { "profile-from-start", !settings->from_start },
        { "kernel-name-base mangled",
          settings->kernel_name_base && strcmp(settings->kernel_name_base, "mangled") == 0 },
        { "replay-mode", settings->replay_mode != NULL },
        { "cache-control", settings->cache_control != NULL },
        { "clock-control", settings->clock_control != NULL },
        { "target-processes", settings->target_processes != NULL },
        { "max-time", settings->max_time != NULL },
        { "export", settings->export != NULL },
        { "log-file", settings->log_file != NULL },
    };

    for (size_t i = 0; i < COUNT_OF(of_programs); i++)
        if (of_programs[i].is_given)
            return error_set(err, ERR_BAD_ARGUMENT, "--%s is for a program that is run, not for --import",
                             of_programs[i].name);
    return 0;
}

/* A report in the place of a program. */
static int check_program(const char *program, struct error *err)
{
    static const char *const endings[] = { ".tacho", ".ncu-rep", ".csv" };
    size_t length = strlen(program);

    for (size_t i = 0; i < COUNT_OF(endings); i++) {
        size_t of_ending = strlen(endings[i]);
        if (length > of_ending && strcmp(program + length - of_ending, endings[i]) == 0 && access(program, F_OK) == 0 &&
            access(program, X_OK) != 0)
            return error_set(err, ERR_BAD_ARGUMENT, "'%s' is a report, not a program: print it with --import", program);
    }
    return 0;
}

/* ---- The command ----------------------------------------------------------------------------------------------- */

static int ncu_command_add_answer(struct text *out, const struct ncu_settings *settings, struct error *err)
{
    if (settings->import)
        return check_import(settings, err) ? err->code : ncu_import(out, settings, err);
    if (settings->list_sets)
        ncu_list_sets(out, settings);
    else if (settings->list_sections)
        ncu_list_sections(out, settings);
    else if (settings->list_metrics)
        return ncu_list_metrics(out, settings, err);
    else if (settings->list_chips)
        return ncu_list_chips(out, err);
    else if (settings->query_metrics)
        return ncu_query_metrics(out, settings, err);
    else
        return error_set(err, ERR_BAD_ARGUMENT,
                         "name a program to count, or what to print: --import FILE, --list-sets, "
                         "--list-sections, --list-metrics, --list-chips or --query-metrics");
    return 0;
}

static int lists(const struct ncu_settings *settings)
{
    return settings->import || settings->list_sets || settings->list_sections || settings->list_metrics ||
           settings->list_chips || settings->query_metrics;
}

static int ncu_command_run(const struct command *self, int argc, char **argv)
{
    struct ncu_settings settings = { .from_start = 1 };
    const char *operands[argc];
    size_t operand_count = 0;
    struct text out = { 0 };
    struct error err = { 0 };
    int status;

    if (argc == 2 && (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "-v") == 0)) {
        const struct command *version = command_find("version");
        return version->run(version, 1, argv);
    }
    if (!command_options(self, argc, argv, &settings, operands, &operand_count, &status))
        return status;
    if (operand_count && lists(&settings)) {
        error_set(&err, ERR_BAD_ARGUMENT, "--import and lists take no program, not '%s'", operands[0]);
        return command_fail(self, &err);
    }
    if (ncu_command_check(&settings, &err) != 0)
        return command_fail(self, &err);
    if (operand_count && check_program(operands[0], &err) != 0)
        return command_fail(self, &err);
    if (operand_count)
        return ncu_run_program(self, &settings, operands, operand_count);
    status = ncu_command_add_answer(&out, &settings, &err) ? command_fail(self, &err) : command_write(self, &out);
    text_free(&out);
    return status;
}

static const struct entry ncu_command_examples[] = {
    { "tacho ncu --set basic -k regex:gemm -c 20 --csv python train.py",
      "Count 20 launches, and print them as ncu does." },
    { "tacho ncu --metrics dram__bytes.sum -o kernels ./solver", "Write kernels.tacho." },
    { "tacho ncu --import kernels.tacho", "Print a table for each kernel and section, as ncu does." },
    { "tacho ncu --import kernels.tacho --csv --page raw", "Print a column per metric, as ncu does." },
    { "tacho ncu --import kernels.csv --csv --print-summary per-kernel", "Print figures per kernel name." },
    { "tacho ncu --list-sets", "Print the sets, and what each holds." },
    { "tacho ncu --list-metrics --set light --chips GH100", "Print the metrics of a set on an H100, and the passes." },
    { "tacho ncu --query-metrics --chips GH100", "Print all metrics of an H100." },
    { 0 },
};

const struct command command_ncu = {
    .name = "ncu",
    .arguments = "[PROGRAM …]",
    .summary = "Count kernels, print their counters, and list those of GPUs, with ncu's options",
    .about =
        "Run PROGRAM and count hardware events of its kernels, or print the counters of kernels in a report: with "
        "the tables, columns, names and units of Nsight Compute's command line, so that scripts for it work unchanged. "
        "List sets, sections and metrics, under ncu's names. Metrics of a chip come from CUPTI, 12.6 or later; lists "
        "need no GPU. Other options of ncu are accepted without effect, or refused, with a sentence.",
    .examples = ncu_command_examples,
    .options = ncu_command_options,
    .variables = COMMAND_GPU_VARIABLES,
    .files = "tacho,csv,ncu-rep",
    .takes_program = 1,
    .run = ncu_command_run,
};
