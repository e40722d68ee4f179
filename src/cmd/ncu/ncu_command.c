/* The command: its options, under ncu's names, and which of them lists what. */
#include "ncu_command.h"

#include <string.h>

#include "abi/counters/counter_sections.h"

static const char *const *modes(void)
{
    static const char *const names[] = { "base", "suffix", "all", NULL };
    return names;
}

static const char *const *collections(void)
{
    static const char *const names[] = { "profiling", "pmsampling", NULL };
    return names;
}

static const char *const *set_names(void)
{
    static const char *names[COUNTER_SET_COUNT + 1];
    for (size_t i = 0; i < COUNTER_SET_COUNT; i++)
        names[i] = counter_sets[i].name;
    return names;
}

#define FIELD(name) offsetof(struct ncu_settings, name)
/* clang-format off */
static const struct option options[] = {
    { .name = "import", .letter = 'i', .kind = OPTION_TEXT, .offset = FIELD(import), .value = "FILE",
      .help = "Report with counters of kernels to print: .tacho, .ncu-rep or a CSV of ncu." },
    { .name = "csv", .kind = OPTION_FLAG, .offset = FIELD(csv), .help = "Print comma-separated values." },
    { .name = "page", .kind = OPTION_CHOICE, .offset = FIELD(page), .value = "PAGE", .choices = ncu_page_names,
      .help = "Page to print: details (a row per metric) or raw (a column per metric). Default: details." },
    { .name = "print-units", .kind = OPTION_CHOICE, .offset = FIELD(print_units), .value = "UNITS",
      .choices = ncu_unit_names,
      .help = "Units of values: auto (scaled to their size: us, Kbyte) or base (ns, byte). Default: auto." },
    { .name = "print-summary", .kind = OPTION_CHOICE, .offset = FIELD(print_summary), .value = "KIND",
      .choices = ncu_summary_names,
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
      .help = "Names to list: base (default), suffix (all names of --metrics), all.", .choices = modes },
    { .name = "query-metrics-collection", .kind = OPTION_CHOICE, .offset = FIELD(query_collection), .value = "WAY",
      .help = "Metrics to list: of kernels (profiling, default), or over time (pmsampling).", .choices = collections },
    { .name = "chips", .kind = OPTION_TEXT, .offset = FIELD(chips), .value = "LIST",
      .help = "Chips for the lists, such as GH100,GB202 (default: that of the first GPU)." },
    { .name = "chip", .kind = OPTION_TEXT, .offset = FIELD(chips), .value = "CHIP",
      .help = "The same as --chips.", .hidden = 1 },
    { .name = "set", .kind = OPTION_LIST, .offset = FIELD(sets), .value = "SET",
      .help = "Set of sections (default: basic); may be repeated.", .choices = set_names },
    { .name = "section", .kind = OPTION_LIST, .offset = FIELD(sections), .value = "SECTION",
      .help = "Section; may be repeated." },
    { .name = "metrics", .kind = OPTION_LIST, .offset = FIELD(metrics), .value = "LIST",
      .help = "Metrics, with commas between them: names with or without a suffix, regex:EXPRESSION." },
    { 0 },
};
/* clang-format on */
#undef FIELD

static int check(const struct ncu_settings *settings, struct error *err)
{
    for (size_t i = 0; i < settings->sets.count; i++)
        if (!counter_set_find(settings->sets.values[i]))
            return error_set(err, ERR_BAD_ARGUMENT, "there is no set '%s' (--list-sets)", settings->sets.values[i]);
    for (size_t i = 0; i < settings->sections.count; i++)
        if (!counter_section_find(settings->sections.values[i]))
            return error_set(err, ERR_BAD_ARGUMENT, "there is no section '%s' (--list-sections)",
                             settings->sections.values[i]);
    return 0;
}

static int add_answer(struct text *out, const struct ncu_settings *settings, struct error *err)
{
    if (check(settings, err))
        return err->code;
    if (settings->import)
        return ncu_import(out, settings, err);
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
                         "name what to print: --import FILE --csv, --list-sets, --list-sections, --list-metrics, "
                         "--list-chips or --query-metrics");
    return 0;
}

static int run(const struct command *self, int argc, char **argv)
{
    struct ncu_settings settings = { 0 };
    const char *operands[argc];
    size_t operand_count = 0;
    struct text out = { 0 };
    struct error err = { 0 };
    int status;

    if (!command_options(self, argc, argv, &settings, operands, &operand_count, &status))
        return status;
    if (operand_count) {
        error_set(&err, ERR_BAD_ARGUMENT, "takes no file or other argument, not '%s'", operands[0]);
        return command_fail(self, &err);
    }
    status = add_answer(&out, &settings, &err) ? command_fail(self, &err) : command_write(self, &out);
    text_free(&out);
    return status;
}

static const struct entry examples[] = {
    { "tacho ncu --import kernels.tacho --csv --page raw", "Print a column per metric, as ncu does." },
    { "tacho ncu --import kernels.csv --csv --print-summary per-kernel", "Print figures per kernel name." },
    { "tacho ncu --list-sets", "Print the sets, and what each holds." },
    { "tacho ncu --list-metrics --set light --chips GH100", "Print the metrics of a set on an H100, and the passes." },
    { "tacho ncu --query-metrics --chips GH100", "Print all metrics of an H100." },
    { 0 },
};

const struct command command_ncu = {
    .name = "ncu",
    .arguments = "",
    .summary = "Print counters of kernels, and list those of GPUs, with ncu's options",
    .about =
        "Print the hardware counters of kernels in a report as CSV, with the columns, names and units of Nsight "
        "Compute's command line, so that scripts for it work unchanged. List sets, sections and metrics, under ncu's "
        "names. Metrics of a chip come from CUPTI, 12.6 or later; no GPU is needed.",
    .examples = examples,
    .options = options,
    .files = "tacho,csv,ncu-rep",
    .run = run,
};
