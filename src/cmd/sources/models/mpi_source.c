/* MPI: which calls each rank makes, and to whom it sends. */
#include <string.h>

#include "cmd/cmd_source.h"
#include "cmd/doctor/finding.h"
#include "cmd/profile/profile_settings.h"
#include "cmd/summary/source_summary.h"
#include "wire/wire_mpi.h"

static const char *const implementations[] = { "auto", "openmpi", "mpich", "abi", NULL };

/* The names stand in the order of enum wire_mpi_flavour. */
static int take_implementation(void *context, const char *value, struct error *err)
{
    struct profile_settings *settings = context;

    for (uint32_t i = 0; implementations[i]; i++)
        if (strcmp(value, implementations[i]) == 0) {
            settings->collect.mpi_flavour = i;
            return 0;
        }
    return error_set(err, ERR_BAD_ARGUMENT, "--mpi-impl must be auto, openmpi, mpich or abi, not '%s'", value);
}

/* clang-format off */
static const struct option mpi_source_options[] = {
    { .name = "mpi-impl", .kind = OPTION_CUSTOM, .value = "NAME", .words = implementations, .take = take_implementation,
      .help = "MPI library of the program: openmpi, mpich (also Intel MPI, MVAPICH and Cray MPICH), abi (the standard "
              "ABI of MPI 5.0), or auto. Rarely needed. Default: auto." },
    { 0 },
};
/* clang-format on */

static const struct cmd_source_trace mpi_source_traces[] = {
    { .name = "mpi", .by_default = BY_DEFAULT_IF_USED },
    { 0 },
};

static int mpi_source_finish(struct profile_settings *settings, struct collect_options *collect, struct error *err)
{
    if (collect->range == COLLECT_RANGE_MPI || collect->mpi_flavour) /* who says so says that the program uses MPI */
        collect->if_used &= ~WIRE_BIT(MPI);
    if (collect->range == COLLECT_RANGE_MPI && !(collect->sources & WIRE_BIT(MPI)))
        return error_set(err, ERR_BAD_ARGUMENT, "--capture-range=mpi needs MPI: add mpi to --trace");
    if (collect->range == COLLECT_RANGE_MPI && !settings->has_range_end) /* the ranks of a job must all go on */
        collect->range_end = COLLECT_END_REPEAT;
    return 0;
}

static void mpi_source_look(struct doctor_finding *finding)
{
    if (finding_has_agent(finding))
        text_add(
            &finding->why,
            "-t mpi records calls into any MPI that is a shared library; without -t, those of programs that use it.");
}

static const struct doctor_examination mpi_source_examinations[] = { { "MPI", mpi_source_look }, { 0 } };

static const struct cmd_source_table mpi_source_tables[] = {
    { "mpi", "MPI_P2P_EVENTS" },
    { "mpi", "MPI_COLLECTIVES_EVENTS" },
    { "mpi", "MPI_START_WAIT_EVENTS" },
    { "mpi", "MPI_OTHER_EVENTS" },
    { 0 },
};

static const struct source_summary mpi_source_summary = { .analysis = "mpi_event_sum", .heading = "MPI calls" };

const struct cmd_source cmd_source_mpi = {
    .events = WIRE_BIT(MPI),
    .traces = mpi_source_traces,
    .options = mpi_source_options,
    .finish = mpi_source_finish,
    .examinations = mpi_source_examinations,
    .tables = mpi_source_tables,
    .summary = &mpi_source_summary,
};
