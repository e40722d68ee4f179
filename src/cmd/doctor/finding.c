/* Functions that several examinations share. */
#include "finding.h"

#include "collect/collect.h"

/* The first line that needs the agent says what to do when it is missing; the others point to it. */
int finding_has_agent(struct doctor_finding *finding)
{
    struct error err = { 0 };

    if (collect_agent_path(&err))
        return 1;
    finding->verdict = VERDICT_FAILS;
    text_add(&finding->why, "The agent was not found: see 'Process tree'.");
    return 0;
}
