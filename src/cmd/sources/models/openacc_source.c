/* OpenACC: the events of its runtime. */
#include <stdlib.h>

#include "cmd/cmd_source.h"
#include "cmd/doctor/finding.h"
#include "wire/wire.h"

static const struct cmd_source_trace traces[] = { { .name = "openacc" }, { 0 } };

static void look(struct finding *finding)
{
    const char *other = getenv("ACC_PROFLIB");

    if (!finding_has_agent(finding))
        return;
    if (other && *other) {
        finding->verdict = VERDICT_FAILS;
        text_addf(&finding->why, "ACC_PROFLIB names another tool (%.256s), which stays.", other);
        text_add(&finding->allow, "unset ACC_PROFLIB\n");
        return;
    }
    text_add(&finding->why,
             "With -t openacc: runtimes of GCC 10 or later and of NVHPC load the library that ACC_PROFLIB "
             "names.");
}

static const struct doctor_examination examinations[] = { { "OpenACC", look }, { 0 } };

static const struct cmd_source_table tables[] = {
    { "openacc", "CUPTI_ACTIVITY_KIND_OPENACC_OTHER" },
    { "openacc data", "CUPTI_ACTIVITY_KIND_OPENACC_DATA" },
    { "openacc launches", "CUPTI_ACTIVITY_KIND_OPENACC_LAUNCH" },
    { 0 },
};

const struct cmd_source cmd_source_openacc = {
    .events = WIRE_BIT(OPENACC),
    .traces = traces,
    .examinations = examinations,
    .tables = tables,
};
