/* Lets a program begin and end recording, by ranges of its own or by calls.
 *
 * This process switches at once and writes a switch to the arena's header. The collector propagates the change to all
 * other processes. */
#include "capture_control.h"

#include "agent.h"
#include "source.h"
#include "sys.h"

/* Calls that address any profiler count only if the capture waits for them. */
static int capture_control_counts(enum wire_capture cause)
{
    uint32_t capture = agent.arena->capture;
    if (cause == WIRE_CAPTURE_PROFILER)
        return capture == WIRE_CAPTURE_API;
    return capture == cause || (capture == WIRE_CAPTURE_ALWAYS && cause != WIRE_CAPTURE_MPI);
}

/* No switch is free because the collector has not read for a while. The last change wins. */
static void miss_switch(enum wire_capture cause, int on)
{
    _Atomic uint64_t *missed = &agent.arena->switches_missed;
    uint64_t before = atomic_load_explicit(missed, memory_order_relaxed);
    while (!atomic_compare_exchange_weak(missed, &before, ((before >> 32) + 1) << 32 | (uint64_t)on << 16 | cause))
        ;
}

static void publish_switch(enum wire_capture cause, int on)
{
    struct wire_header *arena = agent.arena;
    uint32_t made = atomic_load_explicit(&arena->switches_made, memory_order_relaxed);
    do {
        if (wire_switches_full(made, atomic_load_explicit(&arena->switches_read, memory_order_acquire))) {
            miss_switch(cause, on);
            return;
        }
    } while (!atomic_compare_exchange_weak(&arena->switches_made, &made, made + 1));
    struct wire_switch *to = &arena->switches[made % WIRE_SWITCHES];
    to->cause = (uint16_t)cause;
    to->on = (uint16_t)on;
    to->ticks = agent_ticks();
    atomic_store_explicit(&to->number, made + 1, memory_order_release);
}

/* Holds signals back: the collector reads switches in the order of their numbers, and would stop for ever at a number
 * whose writer was left by longjmp(). */
static void set_switch(enum wire_capture cause, int on)
{
    uint64_t mask = sys_hold_signals();
    publish_switch(cause, on);
    sys_release_signals(mask);
}

/* The calling thread may or may not have a slot. */
static int is_attached(void)
{
    agent_thread();
    return agent_attached();
}

void agent_capture_begin(enum wire_capture cause)
{
    if (!is_attached() || !capture_control_counts(cause))
        return;
    uint32_t left = atomic_load_explicit(&agent.arena->ranges_left, memory_order_relaxed);
    do {
        if (left == 0)
            return;
    } while (!atomic_compare_exchange_weak(&agent.arena->ranges_left, &left, left - 1));
    set_switch(cause, 1);
    atomic_store(&agent.arena->recording, wire_recording(agent.arena, atomic_load(&agent.chosen)));
    sources_switched();
}

void agent_capture_end(enum wire_capture cause)
{
    if (!is_attached() || !capture_control_counts(cause) || (cause != WIRE_CAPTURE_API && !agent.arena->capture_ends))
        return;
    atomic_store(&agent.arena->recording, 0);
    sources_switched(); /* first: the collector may end the capture as soon as it reads the switch */
    set_switch(cause, 0);
}
