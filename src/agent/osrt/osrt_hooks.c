/* The hooks that are generated from the rows of libc_calls.def, and the record of a call. See osrt_hooks.h. */
#include "osrt_hooks.h"

#include "agent/core/libc_real.h"
#include "agent/core/own_process.h"
#include "agent/core/stack_copy.h"
#include "agent/core/sys.h"

uint32_t osrt_resync(struct agent_thread *thread, uint32_t level, uintptr_t frame)
{
    if (atomic_load_explicit(&thread->slot->call_ticks, memory_order_relaxed) == 0)
        /* The outermost call is only about to begin: its slot may still hold the frame of the call before. */
        return level;
    uint32_t alive = level < OS_CALL_FRAMES ? level : OS_CALL_FRAMES;
    uint32_t known = alive;
    while (alive > 0 && osrt_of(thread)->call_frames[alive - 1] <= frame &&
           agent_is_on_this_stack(osrt_of(thread)->call_frames[alive - 1]))
        alive--;
    if (alive == known)
        return level;
    for (uint32_t gone = alive; gone < level; gone++)
        agent_count(thread, WIRE_SOURCE_OSRT, WIRE_LOST_IN_SIGNAL);
    return alive;
}

/* ---- Short calls ----------------------------------------------------------------------------------------------- */

/* Functions that return a number of bytes. */
static const unsigned char osrt_returns_bytes[OSRT_FUNCTION_COUNT] = {
#define OS(type, symbol, shown, parameters, arguments, fails) \
    [OSRT_##symbol] = __builtin_types_compatible_p(type, ssize_t),
#define OS_OWN(type, symbol, shown, parameters, arguments, fails)
#include "wire/libc_calls.def"
#undef OS
#undef OS_OWN
};

/* A signal handler may claim the same place in between: then it holds another function, and the search goes on. */
static struct wire_short_calls *osrt_short_place(struct wire_thread *slot, uint32_t key)
{
    for (uint32_t i = 0; i < WIRE_SHORT_PLACES; i++) {
        struct wire_short_calls *place = &slot->short_calls[(key + i) % WIRE_SHORT_PLACES];
        uint32_t holds = 0;
        if (atomic_compare_exchange_strong_explicit(&place->function, &holds, key, memory_order_relaxed,
                                                    memory_order_relaxed) ||
            holds == key)
            return place;
    }
    struct wire_short_calls *others = &slot->short_calls[WIRE_SHORT_PLACES];
    atomic_store_explicit(&others->function, WIRE_SHORT_OTHERS, memory_order_relaxed);
    return others;
}

__attribute__((noinline)) void osrt_count_short(struct agent_thread *thread, uint32_t function, uint64_t duration,
                                                int error, int64_t value)
{
    uint32_t key = function + 1;
    struct wire_short_calls *place = &thread->slot->short_calls[key % WIRE_SHORT_PLACES];

    agent_count(thread, WIRE_SOURCE_OSRT, WIRE_BELOW_THRESHOLD);
    if (unlikely(atomic_load_explicit(&place->function, memory_order_relaxed) != key))
        place = osrt_short_place(thread->slot, key);
    agent_add(&place->count, 1);
    agent_add(&place->ticks, duration);
    if (error)
        atomic_fetch_add_explicit(&place->failed, 1, memory_order_relaxed);
    else if (osrt_returns_bytes[function] && value > 0)
        agent_add(&place->bytes, (uint64_t)value);
}

__attribute__((noinline)) void osrt_count_left_out(void)
{
    struct agent_thread *thread = agent_thread();
    if (thread)
        agent_count(thread, WIRE_SOURCE_OSRT, WIRE_LEFT_OUT);
}

_Unwind_Reason_Code osrt_unwind(int version, _Unwind_Action actions, _Unwind_Exception_Class exception_class,
                                struct _Unwind_Exception *exception, struct _Unwind_Context *context)
{
    struct agent_thread *thread = agent_attached() ? agent_self : NULL;
    if (!(actions & _UA_CLEANUP_PHASE) || !agent_is_thread(thread) || osrt_of(thread)->call_depth == 0)
        return _URC_CONTINUE_UNWIND;
    osrt_of(thread)->call_depth--;
    if (osrt_of(thread)->call_depth > 0) { /* only the outermost call has published its start */
        agent_count(thread, WIRE_SOURCE_OSRT, WIRE_LOST_IN_SIGNAL);
        return _URC_CONTINUE_UNWIND;
    }
    struct osrt_call call = { .thread = thread,
                              .start = atomic_load_explicit(&thread->slot->call_ticks, memory_order_relaxed) };
    uint32_t function = atomic_load_explicit(&thread->slot->call_function, memory_order_relaxed);
    if (osrt_end(&call))
        osrt_emit(&call, (enum osrt_function)function, -1, ECANCELED);
    return _URC_CONTINUE_UNWIND;
}

__attribute__((noinline)) void osrt_emit_words(struct agent_thread *thread, uint32_t function_and_level, uint64_t start,
                                               uint64_t duration_and_error, int64_t value, const void *lock)
{
    if (unlikely(duration_and_error >> 16 >= osrt_settings.backtrace_ticks))
        stack_copy_emit(thread, &(struct chain_of){ WIRE_SOURCE_OSRT, 0, start, wire_osrt(agent.arena)->backtrace_bytes,
                                                    AGENT_STACK_OF_CALL });
    struct agent_lane *lane;
    struct wire_record *record = emit_begin(thread, &lane, WIRE_SOURCE_OSRT, WIRE_OSRT_CALL,
                                            lock ? WIRE_HEAD_WORDS + 3 : WIRE_HEAD_WORDS + 2);
    if (!record)
        return;
    record->a = (uint16_t)function_and_level;
    record->b = (uint16_t)(function_and_level >> 16);
    record->ticks = start;
    record->body[0] = duration_and_error;
    record->body[1] = (uint64_t)value;
    if (lock)
        record->body[2] = (uintptr_t)lock;
    emit_commit(lane, record);
}

#define OS(type, symbol, shown, parameters, arguments, fails)                                                        \
    type osrt_hook_##symbol parameters                                                                               \
    {                                                                                                                \
        struct agent_thread *osrt_thread = osrt_enter();                                                            \
        if (unlikely(!osrt_thread))                                                                                  \
            return LIBC_REAL(symbol) arguments;                                                                      \
        OS_TIMED(osrt_thread, type, symbol, arguments, fails)                                                        \
    }
#define OS_OWN(type, symbol, shown, parameters, arguments, fails)
#include "wire/libc_calls.def"

#if defined(__x86_64__)
OS_OLD(pthread_cond_wait)
OS_OLD(pthread_cond_timedwait)
OS_OLD(pthread_cond_signal)
OS_OLD(pthread_cond_broadcast)
#endif
