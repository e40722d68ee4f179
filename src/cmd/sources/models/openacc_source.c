/* OpenACC: the events of its runtime. */
#include "cmd/cmd_source.h"
#include "cmd/doctor/finding.h"
#include "wire/wire.h"

static const struct cmd_source_trace openacc_source_traces[] = { { .name = "openacc" }, { 0 } };

static void openacc_source_look(struct doctor_finding *finding)
{
    if (finding_has_agent(finding))
        text_add(&finding->why, "-t openacc records the OpenACC runtimes of GCC 10 or later and of NVHPC.");
}

static const struct doctor_examination openacc_source_examinations[] = { { "OpenACC", openacc_source_look }, { 0 } };

static const struct cmd_source_table openacc_source_tables[] = {
    { "openacc", "CUPTI_ACTIVITY_KIND_OPENACC_OTHER" },
    { "openacc data", "CUPTI_ACTIVITY_KIND_OPENACC_DATA" },
    { "openacc launches", "CUPTI_ACTIVITY_KIND_OPENACC_LAUNCH" },
    { 0 },
};

const struct cmd_source cmd_source_openacc = {
    .events = WIRE_BIT(OPENACC),
    .traces = openacc_source_traces,
    .examinations = openacc_source_examinations,
    .tables = openacc_source_tables,
};
