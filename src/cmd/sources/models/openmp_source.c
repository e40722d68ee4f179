/* OpenMP: regions, work sharing, waits, locks and tasks. */
#include <string.h>

#include "cmd/cmd_source.h"
#include "cmd/doctor/finding.h"
#include "cmd/profile/profile_settings.h"
#include "cmd/summary/source_summary.h"
#include "wire/wire_openmp.h"

struct openmp_source_settings {
    uint32_t details;
};

static const struct {
    const char *name;
    uint32_t bits;
} details[] = {
    { "dispatch", WIRE_OPENMP_DETAIL_DISPATCH },
    { "flush", WIRE_OPENMP_DETAIL_FLUSH },
    { "none", 0 },
};

static int take_details(void *settings, const char *value, struct error *err)
{
    struct openmp_source_settings *own = profile_source_settings(settings, &cmd_source_openmp);
    char **names = profile_own(settings, option_split(value, NULL));

    if (!names)
        return error_no_memory(err);
    own->details = 0;
    for (; *names; names++) {
        size_t i = 0;
        while (i < COUNT_OF(details) && strcmp(details[i].name, *names) != 0)
            i++;
        if (i == COUNT_OF(details))
            return error_set(err, ERR_BAD_ARGUMENT, "--openmp-details must be a list of dispatch and flush, not '%s'",
                             value);
        own->details |= details[i].bits;
    }
    return 0;
}

static int openmp_source_finish(struct profile_settings *settings, struct collect_options *collect, struct error *err)
{
    collect->openmp_details = ((struct openmp_source_settings *)profile_source_settings(settings, &cmd_source_openmp))
                                  ->details;
    if (collect->openmp_details) /* who asks for more says that the program uses OpenMP */
        collect->if_used &= ~WIRE_BIT(OPENMP);
    return 0;
}

/* clang-format off */
static const struct option openmp_source_options[] = {
    { .name = "openmp-details", .kind = OPTION_CUSTOM, .value = "LIST", .take = take_details,
      .help = "Record these frequent OpenMP events too: dispatch (chunks of loops, sections), flush. Default: none." },
    { 0 },
};
/* clang-format on */

static const struct cmd_source_trace openmp_source_traces[] = {
    { .name = "openmp", .by_default = BY_DEFAULT_IF_USED },
    { 0 },
};

static void openmp_source_look(struct doctor_finding *finding)
{
    if (finding_has_agent(finding))
        text_add(
            &finding->why,
            "-t openmp records runtimes with OMPT (LLVM's, Intel's, AMD's, NVIDIA's), and GCC's libgomp; without -t, "
            "those of programs that are linked with them.");
}

static const struct doctor_examination openmp_source_examinations[] = { { "OpenMP", openmp_source_look }, { 0 } };

static const struct cmd_source_table openmp_source_tables[] = {
    { "openmp", "OPENMP_EVENT_KIND_PARALLEL" },
    { 0 },
};

static const struct source_summary openmp_source_summary = { .analysis = "openmp_sum", .heading = "OpenMP" };

const struct cmd_source cmd_source_openmp = {
    .events = WIRE_BIT(OPENMP),
    .traces = openmp_source_traces,
    .options = openmp_source_options,
    .settings_bytes = sizeof(struct openmp_source_settings),
    .finish = openmp_source_finish,
    .examinations = openmp_source_examinations,
    .tables = openmp_source_tables,
    .summary = &openmp_source_summary,
};
