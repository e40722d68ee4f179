/* Calls by which a program shows that it uses the signal of the samples (samples_agent.c). Before it installs a handler
 * for the signal, ignores it or waits for it, it gets the signal back; until then no call reveals that the agent has
 * it. Handlers of other signals may have to be entered through the agent (sample_relay.c), which no call reveals
 * either.
 *
 * The calls that wait, and signalfd(), are timed; the others write no records. Raw system calls of a program are not
 * seen. All of these hooks may run in signal handlers and in vfork children, which have handlers of their own. */
#include "agent/core/agent.h"
#include "agent/core/libc_real.h"
#include "agent/core/own_process.h"
#include "agent/core/sys.h"
#include "agent/osrt/osrt_hooks.h"
#include "sample_relay.h"
#include "sample_stack.h"
#include "samples.h"

/* ---- Setting a handler ----------------------------------------------------------------------------------------- */

/* The program sets the default where the agent's handler stands for it: nothing changes, and sampling goes on. */
static int is_default_already(int number, const void *handler)
{
    return number == SAMPLE_SIGNAL && handler == (void *)SIG_DFL && sample_has_signal();
}

#define SIGACTION(symbol)                                                                                            \
    int osrt_hook_##symbol(int number, const struct sigaction *action, struct sigaction *old)                        \
    {                                                                                                                \
        const struct relay_action *before = relay_latest(number);                                                    \
        struct sigaction room;                                                                                       \
        if (action && is_default_already(number, (void *)action->sa_handler))                                        \
            action = NULL;                                                                                           \
        else if (action && number == SAMPLE_SIGNAL)                                                                  \
            sample_give_signal_back();                                                                               \
        int result = LIBC_REAL(symbol)(number, relay_wrap(number, action, &room), old);                              \
        if (result == 0 && old && sample_is_handler(old))                                                            \
            *old = (struct sigaction){ .sa_handler = SIG_DFL };                                                      \
        else if (result == 0 && old)                                                                                 \
            relay_show(before, old);                                                                                 \
        return result;                                                                                               \
    }
SIGACTION(sigaction)
SIGACTION(__sigaction)

#define SIGNAL(symbol)                                                                                               \
    void *osrt_hook_##symbol(int number, void *handler)                                                              \
    {                                                                                                                \
        const struct relay_action *before = relay_latest(number);                                                    \
        if (likely(number != SAMPLE_SIGNAL))                                                                         \
            return relay_show_handler(before, LIBC_REAL(symbol)(number, handler));                                   \
        if (is_default_already(number, handler))                                                                     \
            return (void *)SIG_DFL;                                                                                  \
        int was_ours = sample_has_signal();                                                                          \
        sample_give_signal_back();                                                                                   \
        void *old = LIBC_REAL(symbol)(number, handler);                                                              \
        return was_ours && old != (void *)SIG_ERR ? (void *)SIG_DFL : relay_show_handler(before, old);               \
    }
SIGNAL(signal)
SIGNAL(bsd_signal)
SIGNAL(ssignal)
SIGNAL(sysv_signal)
SIGNAL(__sysv_signal)
SIGNAL(sigset)

int osrt_hook_sigignore(int number)
{
    if (number == SAMPLE_SIGNAL)
        sample_give_signal_back();
    return LIBC_REAL(sigignore)(number);
}

/* ---- Waiting for the signal ------------------------------------------------------------------------------------ */

static void look_at_set(const sigset_t *set)
{
    /* Behind a filter there are no samples, and sys_can_read() is a system call. */
    if (agent_is_filtered())
        return;
    if (set && sys_can_read(set) && sigismember(set, SAMPLE_SIGNAL) == 1)
        sample_give_signal_back();
}

#define WAIT(symbol, parameters, arguments, fails)                                                                   \
    static int timed_##symbol parameters                                                                             \
    {                                                                                                                \
        struct agent_thread *thread = osrt_enter();                                                                 \
        if (!thread)                                                                                                 \
            return LIBC_REAL(symbol) arguments;                                                                      \
        OS_TIMED(thread, int, symbol, arguments, fails)                                                              \
    }
#define WAIT_FOR(symbol, parameters, arguments, fails)                                                               \
    WAIT(symbol, parameters, arguments, fails)                                                                       \
    int osrt_hook_##symbol parameters                                                                                \
    {                                                                                                                \
        look_at_set(set);                                                                                            \
        return timed_##symbol arguments;                                                                             \
    }
WAIT_FOR(signalfd, (int file, const sigset_t *set, int flags), (file, set, flags), MINUS_ONE)
WAIT_FOR(sigwait, (const sigset_t *set, int *number), (set, number), ERROR_NUMBER)
WAIT_FOR(sigwaitinfo, (const sigset_t *set, siginfo_t *information), (set, information), MINUS_ONE)
WAIT_FOR(sigtimedwait, (const sigset_t *set, siginfo_t *information, const struct timespec *timeout),
         (set, information, timeout), MINUS_ONE)

/* ---- Hiding the signal ----------------------------------------------------------------------------------------- */

/* Returns the mask to wait with. A signal that does nothing does not end the wait, so a pending sample must not end it
 * either. The kernel's mask is one word, and some programs pass no more than that. */
static const sigset_t *without_samples(const sigset_t *mask, sigset_t *copy)
{
    if (!mask || !relay_has_begun() || agent_is_filtered_child() || !sys_can_read(mask))
        return mask;
    *(uint64_t *)copy = *(const uint64_t *)mask | (sample_has_signal() ? SAMPLE_SIGNAL_BIT : 0);
    return copy;
}

/* Remembers the mask of the call: a handler that ends the wait is entered with a mask that follows from it, and the
 * handler's frame does not contain it (sample_relay.c). */
static struct agent_thread *note_wait(const sigset_t *mask, uintptr_t frame)
{
    struct agent_thread *thread = agent_attached() ? agent_self : NULL;
    if (!agent_is_thread(thread))
        return NULL;
    sample_of(thread)->wait_frame = 0;
    atomic_signal_fence(memory_order_seq_cst);
    sample_of(thread)->wait_mask = *(const uint64_t *)mask;
    atomic_signal_fence(memory_order_seq_cst);
    sample_of(thread)->wait_frame = frame;
    return thread;
}

#define WAIT_WITH(symbol, parameters, arguments)                                                                     \
    WAIT(symbol, parameters, arguments, MINUS_ONE)                                                                   \
    int osrt_hook_##symbol parameters                                                                                \
    {                                                                                                                \
        sigset_t copy;                                                                                               \
        mask = without_samples(mask, &copy);                                                                         \
        struct agent_thread *thread = mask == &copy ? note_wait(mask, (uintptr_t)__builtin_frame_address(0)) : NULL; \
        int result = timed_##symbol arguments;                                                                       \
        if (thread)                                                                                                  \
            sample_of(thread)->wait_frame = 0;                                                                       \
        return result;                                                                                               \
    }
WAIT_WITH(sigsuspend, (const sigset_t *mask), (mask))
WAIT_WITH(ppoll, (struct pollfd * files, nfds_t count, const struct timespec *timeout, const sigset_t *mask),
          (files, count, timeout, mask))
WAIT_WITH(__ppoll_chk,
          (struct pollfd * files, nfds_t count, const struct timespec *timeout, const sigset_t *mask, size_t room),
          (files, count, timeout, mask, room))
WAIT_WITH(pselect,
          (int count, fd_set *to_read, fd_set *to_write, fd_set *to_except, const struct timespec *timeout,
           const sigset_t *mask),
          (count, to_read, to_write, to_except, timeout, mask))
WAIT_WITH(epoll_pwait, (int epoll, struct epoll_event *events, int count, int timeout_ms, const sigset_t *mask),
          (epoll, events, count, timeout_ms, mask))
WAIT_WITH(epoll_pwait2,
          (int epoll, struct epoll_event *events, int count, const struct timespec *timeout, const sigset_t *mask),
          (epoll, events, count, timeout, mask))

int osrt_hook_sigpending(sigset_t *set)
{
    int result = LIBC_REAL(sigpending)(set);
    if (result == 0 && sample_has_signal())
        sigdelset(set, SAMPLE_SIGNAL);
    return result;
}

/* ---- Leaving a handler by a jump ------------------------------------------------------------------------------- */

/* The handler may have interrupted the agent while it wrote a record. This marks what is unfinished, so that the next
 * user checks whether the program jumped out of it. */
static void note_jump(void)
{
    struct agent_thread *thread = agent_attached() ? agent_self : NULL;
    if (!agent_is_thread(thread))
        return;
    uintptr_t *words[] = { &thread->lanes[WIRE_LANE_THREAD].busy, &thread->lanes[WIRE_LANE_HANDLER].busy,
                           &thread->notes, &thread->scratch[AGENT_SCRATCH_OF_HOOK].taken,
                           &thread->scratch[AGENT_SCRATCH_OF_SAMPLE].taken };
    for (size_t i = 0; i < COUNT_OF(words); i++)
        if (*words[i])
            *words[i] |= AGENT_JUMPED;
    sample_of(thread)->wait_frame = 0;
    /* A call that was only about to begin counts as begun, so that osrt_resync() checks whether it was left. */
    if (osrt_of(thread)->call_depth && !atomic_load_explicit(&thread->slot->call_ticks, memory_order_relaxed))
        atomic_store_explicit(&thread->slot->call_ticks, agent_ticks(), memory_order_relaxed);
}

#define JUMP(symbol)                                                                                                 \
    int osrt_hook_##symbol(void *buffer, int value)                                                                  \
    {                                                                                                                \
        note_jump();                                                                                                 \
        return LIBC_REAL(symbol)(buffer, value);                                                                     \
    }
JUMP(longjmp)
JUMP(_longjmp)
JUMP(siglongjmp)

/* True if the thread runs on an alternate stack of the program that the kernel does not know. */
static int is_on_hidden_stack(void)
{
    struct agent_thread *thread = agent_attached() ? agent_self : NULL;
    stack_t now;
    if (!agent_is_thread(thread) || !sample_of(thread)->signal_stack)
        return 0;
    sample_stack_ask(&now);
    return (now.ss_flags & SS_ONSTACK) != 0;
}

/* glibc's check allows a jump to a lower address only from an alternate stack, and asks the kernel for that. */
int osrt_hook___longjmp_chk(void *buffer, int value)
{
    note_jump();
    return is_on_hidden_stack() ? LIBC_REAL(siglongjmp)(buffer, value) : LIBC_REAL(__longjmp_chk)(buffer, value);
}

/* ---- sigaltstack() --------------------------------------------------------------------------------------------- */

/* The kernel refuses another stack to a thread that runs on the current one. */
static int is_refused(const stack_t *set)
{
    stack_t now;
    sample_stack_ask(&now);
    if (!(now.ss_flags & SS_ONSTACK))
        return 0;
    errno = sys_can_read(set) ? EPERM : EFAULT;
    return 1;
}

/* Holds signals back, so that neither a sample nor a handler that jumps away comes between the two changes. */
static int set_between_samples(struct agent_thread *thread, const stack_t *set, stack_t *old)
{
    uint64_t mask = sys_hold_signals();
    int result = LIBC_REAL(sigaltstack)(set, old);
    enum wire_fate fate = sample_stack_give(thread);
    if (fate != SAMPLE_HAS_STACK)
        sample_thread_stop(thread, fate);
    sys_release_signals(mask);
    return result;
}

int osrt_hook_sigaltstack(const stack_t *set, stack_t *old)
{
    struct agent_thread *thread = set && sample_has_signal() && agent_is_own_process() ? agent_thread() : NULL;
    int may_be_ours = relay_has_begun() && !agent_is_filtered_child();
    if (set && may_be_ours && is_refused(set))
        return -1;
    int result = thread ? set_between_samples(thread, set, old) : LIBC_REAL(sigaltstack)(set, old);
    if (result == 0 && old && may_be_ours)
        sample_stack_show_as_set(old);
    return result;
}
