/* System calls of the agent's own, which end when the process limits itself. */
#ifndef TACHO_AGENT_CORE_OWN_CALLS_H
#define TACHO_AGENT_CORE_OWN_CALLS_H

#include "agent.h"

/* Around system calls of the agent outside of the hooks that limit a process, which wait for them: 0:
 * none may be made any more. */
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
