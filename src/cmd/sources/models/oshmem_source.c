/* OpenSHMEM: calls into its library. */
#include "cmd/cmd_source.h"
#include "cmd/doctor/finding.h"
#include "wire/wire.h"

static const struct cmd_source_trace oshmem_source_traces[] = { { .name = "oshmem" }, { 0 } };

static void oshmem_source_look(struct doctor_finding *finding)
{
    if (finding_has_agent(finding))
        text_add(&finding->why, "-t oshmem records calls into OpenSHMEM.");
}

static const struct doctor_examination oshmem_source_examinations[] = { { "OpenSHMEM", oshmem_source_look }, { 0 } };

static const struct cmd_source_table oshmem_source_tables[] = { { "oshmem", "TACHO_OSHMEM" }, { 0 } };

const struct cmd_source cmd_source_oshmem = {
    .events = WIRE_BIT(OSHMEM),
    .traces = oshmem_source_traces,
    .examinations = oshmem_source_examinations,
    .tables = oshmem_source_tables,
};
