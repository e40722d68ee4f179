/* UCX: calls into libucp. */
#include "cmd/cmd_source.h"
#include "cmd/doctor/finding.h"
#include "wire/wire.h"

static const struct cmd_source_trace traces[] = { { .name = "ucx" }, { 0 } };

static void look(struct finding *finding)
{
    if (finding_has_agent(finding))
        text_add(&finding->why, "-t ucx records calls into libucp.");
}

static const struct doctor_examination examinations[] = { { "UCX", look }, { 0 } };

static const struct cmd_source_table tables[] = {
    { "ucx", "UCP_SUBMIT_EVENTS" },
    { "ucx progress", "UCP_PROGRESS_EVENTS" },
    { "ucx other calls", "UCP_EVENTS" },
    { 0 },
};

const struct cmd_source cmd_source_ucx = {
    .events = WIRE_BIT(UCX),
    .traces = traces,
    .examinations = examinations,
    .tables = tables,
};
