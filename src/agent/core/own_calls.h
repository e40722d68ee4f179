/* A guard around the agent's own system calls. They must stop when the process limits itself (lifecycle.h). */
#ifndef TACHO_AGENT_CORE_OWN_CALLS_H
#define TACHO_AGENT_CORE_OWN_CALLS_H

#include "agent.h"

/* Brackets system calls of the agent. agent_leave() waits for calls that have begun. 0: the agent must not make system
 * calls any more. The hooks that limit a process do not need this. */
static inline int agent_begin_calls(void)
{
    atomic_fetch_add(&agent.calling, 1);
    atomic_thread_fence(memory_order_seq_cst);
    if (agent_attached())
        return 1;
    atomic_fetch_sub(&agent.calling, 1);
    return 0;
}
static inline void agent_end_calls(void)
{
    atomic_fetch_sub(&agent.calling, 1);
}

#endif
