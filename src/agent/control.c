/* What a program may ask of its capture: begin and end recording, from NVTX ranges or from the public API.
 *
 * This process switches at once; the record tells the collector, who switches the others and keeps count.           */
#include "core.h"

/* CUDA's calls are meant for any profiler: they count only when the capture waits for a call. */
static int counts(enum wire_capture cause)
{
    uint32_t capture = agent.arena->capture;
    return cause == WIRE_CAPTURE_CUDA ? capture == WIRE_CAPTURE_API : capture == WIRE_CAPTURE_ALWAYS || capture == cause;
}

void agent_capture_begin(enum wire_capture cause)
{
    if (!agent_thread() || !counts(cause))
        return;
    uint32_t left = atomic_load_explicit(&agent.arena->ranges_left, memory_order_relaxed);
    do {
        if (left == 0)
            return;
    } while (!atomic_compare_exchange_weak(&agent.arena->ranges_left, &left, left - 1));
    emit_note(WIRE_CAPTURE_BEGIN, (uint16_t)cause, NULL, 0, NULL);
    atomic_store(&agent.arena->recording, atomic_load(&agent.chosen));
    cuda_follow(0);
}

void agent_capture_end(enum wire_capture cause)
{
    if (!agent_thread() || !counts(cause) || (cause != WIRE_CAPTURE_API && !agent.arena->capture_ends))
        return;
    atomic_store(&agent.arena->recording, 0);
    cuda_follow(0); /* first: the collector may end the capture as soon as it reads the record */
    emit_note(WIRE_CAPTURE_END, (uint16_t)cause, NULL, 0, NULL);
}
