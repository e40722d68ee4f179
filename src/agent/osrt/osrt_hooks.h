/* What the hooks of OS calls share: declarations of the hooks, and how a call is timed.
 *
 * A hook is osrt_hook_<symbol> in C and <symbol> to the linker, so that libc's own declarations never conflict with it.
 * It must leave errno exactly as the real function did. It may run anywhere: in constructors that run before the
 * agent's, in signal handlers, between vfork and exec, in dlsym.
 *
 * A thread that is cancelled unwinds through a hook and never returns to it. A cleanup handler in the hook would need
 * the unwinder's library. Instead every hook names osrt_unwind() as its personality routine, which the unwinder calls
 * on its way and which needs no library. A signal handler that jumps out of a call (siglongjmp) calls nothing; the next
 * hooked call corrects the nesting level, because a frame that lies below the caller's is dead (osrt_resync). */
#ifndef TACHO_AGENT_OSRT_OSRT_HOOKS_H
#define TACHO_AGENT_OSRT_OSRT_HOOKS_H

#include <unwind.h>

#include "agent/core/agent.h"
#include "agent/core/libc_real.h"
#include "agent/core/own_process.h"
#include "agent/core/source.h"
#include "wire/wire_osrt.h"

/* ---- The hooks ------------------------------------------------------------------------------------------------- */

#define OS(type, symbol, shown, parameters, arguments, fails)                                                          \
    EXPORT type osrt_hook_##symbol parameters __asm__(#symbol);
#define OS_OWN(type, symbol, shown, parameters, arguments, fails) \
    EXPORT type osrt_hook_##symbol parameters __asm__(#symbol);
#include "wire/libc_calls.def"
#undef OS
#undef OS_OWN

/* Exports the hook os_old_<symbol>, which must be in the same file, as the old version of the symbol: see
 * versions.x86_64.map. */
#define OS_OLD(symbol) __asm__(".symver os_old_" #symbol ", " #symbol "@GLIBC_2.2.5");

/* ---- Timing a call --------------------------------------------------------------------------------------------- */

/* Hidden, so that a hook reads them without going through the global offset table. */
extern struct osrt_settings {
    uint64_t backtrace_ticks;
} osrt_settings __attribute__((visibility("hidden")));

#define OS_CALL_FRAMES 8 /* nested calls whose frames are remembered */
struct osrt_thread {
    uint32_t call_depth;                   /* number of hooked calls that the thread is in */
    uintptr_t call_frames[OS_CALL_FRAMES]; /* stack pointers of their hooks */
};
AGENT_THREAD_STATE(OSRT, struct osrt_thread, osrt_of)

struct osrt_call {
    struct agent_thread *thread;
    uint64_t start, duration; /* ticks */
    uint32_t level;
};

/* The nesting level of a call whose hook has this frame. `level` is what the thread believes; calls that the program
 * jumped out of are subtracted and counted as lost. */
uint32_t osrt_resync(struct agent_thread *thread, uint32_t level, uintptr_t frame);

/* The personality routine of the hooks: the unwinder has reached the frame of a hook, so its call was cancelled. */
_Unwind_Reason_Code osrt_unwind(int version, _Unwind_Action actions, _Unwind_Exception_Class exception_class,
                                struct _Unwind_Exception *exception, struct _Unwind_Context *context);

/* Writes the record, or counts the loss. Keeps errno. Takes single words, so that a hook can keep them in registers.
 * `lock` is the lock that the call waited for, else NULL. */
void osrt_emit_words(struct agent_thread *thread, uint32_t function_and_level, uint64_t start,
                     uint64_t duration_and_error, int64_t value, const void *lock);

/* Counts a call that is too short for a record, with its function, time and result. Keeps errno. */
void osrt_count_short(struct agent_thread *thread, uint32_t function, uint64_t duration, int error, int64_t value);

/* Counts a call of which nothing else is recorded. Keeps errno. */
void osrt_count_left_out(void);

/* The calling thread if OS calls are recorded; else NULL, and the call is counted if that alone is wanted just now
 * (--cost-limit). A recorded call pays nothing for that. */
static inline struct agent_thread *osrt_enter(void)
{
    struct wire_header *arena = atomic_load_explicit(&agent_switch.arena, memory_order_relaxed);
    if (unlikely(!arena))
        return agent_enter_slow(WIRE_BIT(OSRT));
    uint32_t recording = atomic_load_explicit(&arena->recording, memory_order_relaxed);
    if (!(recording & WIRE_BIT(OSRT))) {
        if (unlikely(recording & WIRE_ONLY_COUNTED))
            osrt_count_left_out();
        return NULL;
    }
    struct agent_thread *thread = agent_self;
    if (unlikely(!agent_is_thread(thread)))
        return agent_enter_slow(WIRE_BIT(OSRT));
    return thread;
}

/* This is inlined into the hook and gives it the personality routine. Between osrt_begin() and osrt_end() the hook must
 * call no cancellation point but the real function, and before osrt_begin() none at all in the same frame:
 * osrt_unwind() would end a call that has not begun. */
__attribute__((always_inline)) static inline struct osrt_call osrt_begin(struct agent_thread *thread,
                                                                         enum osrt_function function)
{
    __asm__ volatile(".cfi_personality 0x1b, osrt_unwind"); /* 0x1b: a 4-byte offset relative to this place */
    uint64_t start = agent_ticks(); /* first: the CPU executes the rest while it waits for the counter */
    uintptr_t frame = agent_frame();
    uint32_t level = osrt_of(thread)->call_depth;
    if (unlikely(level))
        level = osrt_resync(thread, level, frame);
    /* In this order: depth, frame, time. A signal handler may interrupt in between (osrt_resync). */
    osrt_of(thread)->call_depth = level + 1;
    atomic_signal_fence(memory_order_seq_cst);
    if (likely(level < OS_CALL_FRAMES))
        osrt_of(thread)->call_frames[level] = frame;
    if (likely(level == 0)) {
        atomic_store_explicit(&thread->slot->call_function, function, memory_order_relaxed);
        atomic_store_explicit(&thread->slot->call_ticks, start, memory_order_release);
    }
    return (struct osrt_call){ .thread = thread, .level = level, .start = start };
}

/* Shorter calls are only counted. The collector may raise it while the program runs. */
static inline uint64_t osrt_threshold_ticks(void)
{
    return atomic_load_explicit(&wire_osrt(agent.arena)->threshold_ticks, memory_order_relaxed);
}

/* Ends the call. False: it is neither to be recorded nor counted. */
__attribute__((always_inline)) static inline int osrt_end(struct osrt_call *call)
{
    struct agent_thread *thread = call->thread;
    uint64_t end = agent_ticks();
    /* A signal handler inside the call may have forked. Then this is the child, which does not have the arena. */
    if (unlikely(agent_self != thread || !agent_attached()))
        return 0;
    osrt_of(thread)->call_depth = call->level;
    if (likely(call->level == 0))
        atomic_store_explicit(&thread->slot->call_ticks, 0, memory_order_relaxed);
    call->duration = likely(end > call->start) ? end - call->start : 0;
    return 1;
}

/* Records the call, or counts it if it was short. */
static inline void osrt_emit_lock(const struct osrt_call *call, enum osrt_function function, int64_t value, int error,
                                  const void *lock)
{
    if (call->duration < osrt_threshold_ticks()) {
        osrt_count_short(call->thread, function, call->duration, error, value);
        return;
    }
    uint32_t level = call->level < UINT16_MAX ? call->level : UINT16_MAX;
    osrt_emit_words(call->thread, level << 16 | function, call->start, call->duration << 16 | (uint16_t)error, value,
                    lock);
}

static inline void osrt_emit(const struct osrt_call *call, enum osrt_function function, int64_t value, int error)
{
    osrt_emit_lock(call, function, value, error, NULL);
}

/* Reading functions return the same value at the end of a stream as on an error; only the stream knows which it was. It
 * is asked without its lock, which another thread may hold while it waits for input. (Declared here, because libc's
 * header would use its own type FILE.) */
extern int osrt_stream_has_ended(void *stream) __asm__("feof_unlocked");

/* One for each `fails` of libc_calls.def: the error number of a call with this result, 0 if it did not fail. */
#define OS_ERROR_MINUS_ONE(result) ((int64_t)(result) == -1 ? errno : 0)
#define OS_ERROR_NULL_ERRNO(result) ((result) ? 0 : errno)
#define OS_ERROR_ERROR_NUMBER(result) (result)
#define OS_ERROR_NOT_ZERO(result) 0
#define OS_ERROR_NO_POINTER(result) 0
#define OS_ERROR_NEVER(result) 0
#define OS_ERROR_VOID(result) 0
#define OS_ERROR_STREAM_EOF(result) ((int64_t)(result) == -1 && !osrt_stream_has_ended(stream) ? errno : 0)
#define OS_ERROR_STREAM_NULL(result) (!(result) && !osrt_stream_has_ended(stream) ? errno : 0)
#define OS_ERROR_STREAM_SHORT(result) ((result) < count && size && !osrt_stream_has_ended(stream) ? errno : 0)

/* The rest of a hook's body: calls the real function, timed, and returns its result. */
#define OS_TIMED(osrt_thread, type, symbol, arguments, fails) \
    OS_TIMED_AS(osrt_thread, type, symbol, arguments, fails, (int64_t)osrt_result, NULL)

/* The same, with another value and a lock in the record. */
#define OS_TIMED_AS(osrt_thread, type, symbol, arguments, fails, value, lock)                                        \
    struct osrt_call osrt_call = osrt_begin(osrt_thread, OSRT_##symbol);                                             \
    type osrt_result = LIBC_REAL(symbol) arguments;                                                                  \
    if (osrt_end(&osrt_call))                                                                                        \
        osrt_emit_lock(&osrt_call, OSRT_##symbol, value, OS_ERROR_##fails(osrt_result), lock);                       \
    return osrt_result;

#endif
