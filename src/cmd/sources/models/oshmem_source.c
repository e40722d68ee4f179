/* OpenSHMEM: calls into its library. */
#include "cmd/cmd_source.h"
#include "cmd/doctor/finding.h"
#include "wire/wire.h"

static const struct cmd_source_trace traces[] = { { .name = "oshmem" }, { 0 } };

static void look(struct finding *finding)
{
    if (finding_has_agent(finding))
        text_add(&finding->why, "-t oshmem records calls into OpenSHMEM.");
}

static const struct doctor_examination examinations[] = { { "OpenSHMEM", look }, { 0 } };

static const struct cmd_source_table tables[] = { { "oshmem", "TACHO_OSHMEM" }, { 0 } };

const struct cmd_source cmd_source_oshmem = {
    .events = WIRE_BIT(OSHMEM),
    .traces = traces,
    .examinations = examinations,
    .tables = tables,
};
