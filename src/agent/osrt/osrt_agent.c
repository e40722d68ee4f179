/* The agent's row of the source of OS calls. The hooks make its events: osrt_hooks.h. */
#include "osrt_hooks.h"
#include "osrt_process.h"

struct osrt_settings osrt_settings;

static void osrt_agent_start(void)
{
    if (agent.session[0])
        osrt_exec_prepare();
    osrt_process_prepare();
}

static int osrt_agent_attach(struct wire_header *arena, int descriptor, enum wire_origin origin)
{
    osrt_settings.backtrace_ticks = wire_osrt(arena)->backtrace_bytes ? wire_osrt(arena)->backtrace_ticks : UINT64_MAX;
    return 0;
}

/* A thread that was cancelled, or called pthread_exit() in a handler, never returned from the calls that it was in. */
static void thread_ending(struct agent_thread *thread)
{
    for (; osrt_of(thread)->call_depth > 0; osrt_of(thread)->call_depth--)
        agent_count(thread, WIRE_SOURCE_OSRT, WIRE_LOST_IN_SIGNAL);
    atomic_store_explicit(&thread->slot->call_ticks, 0, memory_order_relaxed);
}

const struct agent_source agent_source_osrt = {
    .start = osrt_agent_start,
    .attach = osrt_agent_attach,
    .thread_ending = thread_ending,
};
