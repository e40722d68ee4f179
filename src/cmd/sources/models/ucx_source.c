/* UCX: calls into libucp. */
#include "cmd/cmd_source.h"
#include "cmd/doctor/finding.h"
#include "wire/wire.h"

static const struct cmd_source_trace ucx_source_traces[] = { { .name = "ucx" }, { 0 } };

static void ucx_source_look(struct doctor_finding *finding)
{
    if (finding_has_agent(finding))
        text_add(&finding->why, "-t ucx records calls into libucp.");
}

static const struct doctor_examination ucx_source_examinations[] = { { "UCX", ucx_source_look }, { 0 } };

static const struct cmd_source_table ucx_source_tables[] = {
    { "ucx", "UCP_SUBMIT_EVENTS" },
    { "ucx progress", "UCP_PROGRESS_EVENTS" },
    { "ucx other calls", "UCP_EVENTS" },
    { 0 },
};

const struct cmd_source cmd_source_ucx = {
    .events = WIRE_BIT(UCX),
    .traces = ucx_source_traces,
    .examinations = ucx_source_examinations,
    .tables = ucx_source_tables,
};
