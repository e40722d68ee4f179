/* OpenMP as a source of the agent: its row, and what libtacho-openmp.so looks up. */
#include "abi/models/models.h"
#include "agent/core/source.h"
#include "gomp_calls.h"
#include "openmp_agent.h"

static const struct agent_openmp_calls openmp_entry_calls = {
    .size = sizeof openmp_entry_calls,
    .tool = openmp_tool,
    .tell = openmp_tell,
};

EXPORT const struct agent_openmp_calls *tacho_agent_openmp_calls(void)
{
    return agent_thread() && (agent.sources & WIRE_BIT(OPENMP)) ? &openmp_entry_calls : NULL;
}

const struct agent_source agent_source_openmp = {
    .word_calls = &gomp_calls,
    .preload = WIRE_OPENMP_FILE,
    .models = MODEL_BIT(MODEL_OPENMP),
};
