/* tacho stats: tables of a report, on the terminal or for other programs. */
#include <string.h>

#include "analyze/registry.h"
#include "base/hash.h"
#include "cmd/open_report.h"
#include "cmd/run_by.h"
#include "cmd/run_reports.h"

struct stats_settings {
    struct run_reports_settings show;
    const char *help_reports;
    int help_formats;
};

static const char *const *stats_report_names(void)
{
    static const char *names[SHOW_MOST_NAMES];

    return run_reports_names(names, analyses, NULL);
}

static const char *const *help_names(void)
{
    static const char *names[SHOW_MOST_NAMES];

    return run_reports_names(names, analyses, "ALL");
}

#define FIELD(name) offsetof(struct stats_settings, name)
/* clang-format off */
static const struct option stats_options[] = {
    { .name = "report", .letter = 'r', .kind = OPTION_LIST, .offset = FIELD(show.names), .value = "NAME[:OPTION…]",
      .choices = stats_report_names,
      .help = "Report to print, with its options; repeat it, or separate several with commas. Default: the default "
              "reports (--help-reports lists all)." },
    { .name = "peak", .kind = OPTION_TEXT, .offset = FIELD(show.peaks), .value = "TYPE=RATE,…",
      .help = "Peaks of the GPU for torch_flops_sum, roofline and step_flops, in TFLOP/s, and GB/s for memory: "
              "bf16=989,memory=4800. Default: those of the GPU." },
    DELIVER_OPTIONS(struct stats_settings, show.deliver),
    PART_OPTIONS(struct stats_settings, show.part),
    FOREIGN_REP_OPTIONS(struct stats_settings, show.input),
    { .name = "by", .kind = OPTION_CHOICE, .offset = FIELD(show.input.by), .words = OPTION_WORDS("rank", "host"),
      .help = "Print a row for each rank (rank) or host (host), and the least, the median and the greatest of them." },
    EACH_OPTION(struct stats_settings, show.each),
    SHARE_OPTIONS(struct stats_settings, show.share),
    { .name = "help-reports", .kind = OPTION_TEXT, .offset = FIELD(help_reports), .value = "[NAME|ALL]",
      .choices = help_names,
      .help = "List the reports; with NAME or ALL, explain them." },
    { .name = "help-formats", .kind = OPTION_FLAG, .offset = FIELD(help_formats),
      .help = "List the output formats." },
    { .name = "report-dir", .kind = OPTION_IGNORED, .value = "FOLDER",
      .help = "reports are built in, and scripts are not run" },
    { 0 },
};
/* clang-format on */

/* The words of the command line that say what is asked for, but not by which process. */
static uint64_t hash_request(int argc, char **argv)
{
    uint64_t hash = 0;

    for (int i = 1; i < argc; i++)
        if (!text_begins_with(argv[i], "--share"))
            hash = hash_bytes_seeded(argv[i], strlen(argv[i]), hash);
    return hash;
}

static int stats_run(const struct command *self, int argc, char **argv)
{
    struct stats_settings settings = { .show.share.request = hash_request(argc, argv) };
    const char *files[argc];
    size_t file_count;
    int status;

    if (!command_options(self, argc, argv, &settings, files, &file_count, &status))
        return status;
    settings.show.deliver.is_relayed = run_share_is_of_job(&settings.show.share);
    settings.show.input.is_quiet = !run_share_is_first(&settings.show.share);
    if (settings.help_reports || settings.help_formats)
        return run_reports_help(self, &stats_registry, settings.help_reports, settings.help_formats);
    return run_reports_files(self, &settings.show, &stats_registry, files, file_count);
}

static const struct entry stats_examples[] = {
    { "tacho stats report1.tacho", "Print the default reports." },
    { "tacho stats -r cuda_gpu_kern_sum,osrt_sum report1.tacho", "Print two reports." },
    { "tacho stats -r osrt_sum -f csv -o calls report1.tacho", "Write calls_osrt_sum.csv." },
    { "tacho stats -r roofline --peak bf16=800 report1.tacho",
      "Print the roofline with a peak that was measured, 800 TFLOP/s." },
    { "tacho stats --filter-nvtx step/3 report1.tacho",
      "Count only events that overlap the fourth range called 'step'." },
    { "tacho stats --by rank -r mpi_event_sum run/", "Print how the times in MPI calls differ between the ranks." },
    { "tacho stats -r cuda_gpu_kern_sum --share run/",
      "Behind srun -n 8 or mpirun -n 8: divide the reports of a large job among eight processes." },
    { "tacho stats run/", "Print the tables of a job, whose reports are in this folder." },
    { 0 },
};

const struct command command_stats = {
    .name = "stats",
    .arguments = "FILE …",
    .summary = "Print tables that show where the time went",
    .about = "Print the tables of a report. FILE is a .tacho report, a trace of torch.profiler or an SQLite export of "
             "nsys; several FILEs, a folder or a pattern of them are read as one report. For a .nsys-rep, tacho reads "
             "the export beside it, or has nsys make one.",
    .examples = stats_examples,
    .options = stats_options,
    .files = "tacho,sqlite",
    .run = stats_run,
};
