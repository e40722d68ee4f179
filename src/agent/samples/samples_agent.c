/* Samples CPU time where the kernel refuses perf events (containers). Each thread has a timer on its own CPU clock,
 * whose signal the thread handles: the handler copies the registers and the top of the stack into a record.
 *
 * The signal is SIGURG. By default it does nothing (a signal that is still pending when a program calls exec must not
 * kill the next one), debuggers pass it on silently, and hardly any program uses it. Once the program shows that it
 * does (sample_signals.c), it gets the signal as if the agent had never had it, and sampling stops. A thread's timer
 * runs only while the thread does, and the kernel delivers its signal on the way back to user space, so it never
 * interrupts a call that sleeps. SA_RESTART covers older kernels.
 *
 * The handler runs on an alternate stack of the agent (sample_stack.c) and blocks all signals, so that no handler of
 * the program runs there. It copies the stack by a system call that fails where a plain read would fault. Nothing here
 * allocates or takes a lock. */
#include "samples.h"

#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <ucontext.h>

#include "abi/registers.h"
#include "agent/core/agent.h"
#include "agent/core/arena_window.h"
#include "agent/core/libc_real.h"
#include "agent/core/own_process.h"
#include "agent/core/stack_copy.h"
#include "agent/core/sys.h"
#include "sample_relay.h"
#include "sample_stack.h"
#include "wire/wire_samples.h"

/* Periods that one sample may stand for. A thread that shares its CPU is seldom running when the clock ticks, and
 * catches up later. More periods mean that the signal was blocked. */
#define SAMPLE_MAX 64u
#define NO_TIMER 0           /* in sample_thread.timer */
#define PERIOD_LEAST_NS 100000u

#if defined(__x86_64__)
#define REGISTERS 17u
static void read_registers(const ucontext_t *context, uint64_t *out)
{
    static const unsigned char places[REGISTERS] = {
        /* by DWARF number */
        REG_RAX, REG_RDX, REG_RCX, REG_RBX, REG_RSI, REG_RDI, REG_RBP, REG_RSP, REG_R8,
        REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15, REG_RIP,
    };
    for (unsigned i = 0; i < REGISTERS; i++)
        out[i] = (uint64_t)context->uc_mcontext.gregs[places[i]];
}
#elif defined(__aarch64__)
#define REGISTERS 33u
static void read_registers(const ucontext_t *context, uint64_t *out)
{
    for (unsigned i = 0; i < 31; i++)
        out[i] = context->uc_mcontext.regs[i];
    out[31] = context->uc_mcontext.sp;
    out[32] = context->uc_mcontext.pc;
}
#endif
_Static_assert(REGISTERS <= WIRE_SAMPLE_REGISTERS_MAX, "the collector has room for them");

enum { SIGNAL_FREE, SIGNAL_OURS, SIGNAL_PROGRAMS };
static _Atomic uint32_t signal_owner; /* a forked child inherits its parent's handlers */

/* ---- The handler ----------------------------------------------------------------------------------------------- */

/* If the program has set an alternate stack without libc, the handler runs there, and it may be small. */
static int sample_agent_has_room(const stack_t *alternate, const char *here)
{
    return (size_t)(here - (const char *)alternate->ss_sp) > AGENT_FRAMES_NEED;
}

static void emit_sample(struct agent_thread *thread, const ucontext_t *context, uint64_t periods)
{
    const struct wire_samples_shared *settings = wire_samples(agent.arena);
    uint32_t room = settings->stack_bytes & ~7u;
    uint64_t frames = sample_agent_has_room(&context->uc_stack, __builtin_frame_address(0))
                          ? sources_frames(thread, AGENT_STACK_OF_SAMPLE)
                          : 0;
    struct agent_lane *lane;
    struct wire_record *record = emit_begin(thread, &lane, WIRE_SOURCE_SAMPLES, WIRE_SAMPLE,
                                            WIRE_HEAD_WORDS + 2 + REGISTERS + room / 8);
    if (!record)
        return;
    record->ticks = agent_ticks();
    uint64_t period_ns = atomic_load_explicit(&settings->period_ns, memory_order_relaxed);
    uint32_t armed_us = sample_of(thread)->period_us;
    record->body[0] = periods * (period_ns / 1000 == armed_us ? period_ns : (uint64_t)armed_us * 1000);
    record->body[1] = frames;
    read_registers(context, record->body + 2);
    long got = room ? stack_copy_take(record->body + 2 + REGISTERS, record->body[2 + REGISTERS_STACK_POINTER], room)
                    : 0;
    uint32_t copied = got > 0 ? (uint32_t)got & ~7u : 0;
    record->a = REGISTERS;
    record->b = (uint16_t)copied;
    record->words = (uint16_t)(WIRE_HEAD_WORDS + 2 + REGISTERS + copied / 8);
    emit_commit(lane, record);
}

/* Arms the timer; period 0 stops it. */
static void set_timer(int timer, uint64_t period_ns)
{
    struct timespec period = { .tv_sec = (time_t)(period_ns / 1000000000u),
                               .tv_nsec = (long)(period_ns % 1000000000u) };
    struct itimerspec when = { .it_interval = period, .it_value = period };
    sys_call6(SYS_timer_settime, timer, 0, (long)&when, 0, 0, 0);
}

static uint32_t sample_agent_period_us(void)
{
    uint64_t us = atomic_load_explicit(&wire_samples(agent.arena)->period_ns, memory_order_relaxed) / 1000;
    return us < UINT32_MAX ? (uint32_t)us : UINT32_MAX;
}

/* The collector may have changed the period since the last sample. */
static void follow_period(struct agent_thread *thread)
{
    uint32_t us = sample_agent_period_us(), timer = __atomic_load_n(&sample_of(thread)->timer, __ATOMIC_SEQ_CST);
    if (likely(us == sample_of(thread)->period_us) || timer == NO_TIMER || us < PERIOD_LEAST_NS / 1000)
        return;
    sample_of(thread)->period_us = us;
    set_timer((int)timer - 1, (uint64_t)us * 1000);
}

static void sample_agent_take_sample(int signal_number, siginfo_t *information, void *context)
{
    int saved_errno = errno;
    struct agent_thread *thread = agent_attached() ? agent_self : NULL;
    if (information->si_code == SI_TIMER && agent_is_thread(thread) && agent_recording(WIRE_BIT(SAMPLES))) {
        uint64_t periods = 1 + (uint64_t)(information->si_overrun > 0 ? information->si_overrun : 0);
        for (uint64_t lost = SAMPLE_MAX; lost < periods; lost++)
            agent_count(thread, WIRE_SOURCE_SAMPLES, WIRE_LOST_BLOCKED);
        emit_sample(thread, context, periods < SAMPLE_MAX ? periods : SAMPLE_MAX);
        follow_period(thread);
    }
    errno = saved_errno;
}

/* ---- The signal ------------------------------------------------------------------------------------------------ */

int sample_is_handler(const struct sigaction *action)
{
    return (action->sa_flags & SA_SIGINFO) && action->sa_sigaction == sample_agent_take_sample;
}

/* Asks the kernel only if the answer can be yes: under a seccomp filter the system call alone could kill the
 * program. */
int sample_has_signal(void)
{
    struct sigaction now;
    if (agent.left || atomic_load_explicit(&signal_owner, memory_order_relaxed) != SIGNAL_OURS ||
        agent_is_filtered_child())
        return 0;
    return LIBC_REAL(sigaction)(SAMPLE_SIGNAL, NULL, &now) == 0 && sample_is_handler(&now);
}

int sample_is_over(void)
{
    return atomic_load_explicit(&signal_owner, memory_order_relaxed) == SIGNAL_PROGRAMS;
}

/* Installs the handler if nobody else has one: 0, or -1. It does so once, because at a later time the program may have
 * installed its own. */
static int take_signal(void)
{
    struct sigaction now, ours = { .sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK };
    uint32_t owner = atomic_load(&signal_owner);
    /* In a child of a process that was forked and did not attach. */
    if (owner == SIGNAL_OURS && !relay_has_begun())
        relay_begin();
    if (owner != SIGNAL_FREE)
        return owner == SIGNAL_OURS ? 0 : -1;
    ours.sa_sigaction = sample_agent_take_sample;
    memset(&ours.sa_mask, 0xff, sizeof ours.sa_mask);
    if (LIBC_REAL(sigaction)(SAMPLE_SIGNAL, NULL, &now) != 0)
        return -1;
    int is_free = sample_is_handler(&now) || (!(now.sa_flags & SA_SIGINFO) && now.sa_handler == SIG_DFL);
    if (is_free && LIBC_REAL(sigaction)(SAMPLE_SIGNAL, &ours, NULL) == 0) {
        relay_begin();
        atomic_compare_exchange_strong(&signal_owner, &owner, SIGNAL_OURS);
        return 0;
    }
    if (atomic_exchange(&signal_owner, SIGNAL_PROGRAMS) != SIGNAL_PROGRAMS)
        emit_note(WIRE_DIAGNOSTIC, 2, NULL, 0,
                  "No CPU samples: the program uses SIGURG, the signal of the sampling timers.");
    return -1;
}

/* ---- Threads without samples ----------------------------------------------------------------------------------- */

static const char *const sample_agent_reasons[WIRE_FATE_COUNT] = {
    [WIRE_UNSAMPLED_TIMER] = "Some threads have no CPU samples: their timers would take more than half of the user's "
                             "pending signals (ulimit -i), or they could not allocate a signal stack.",
};
static _Atomic uint32_t told[WIRE_FATE_COUNT]; /* pid of the process that has written this diagnostic: once is enough */

static void count_unsampled(enum wire_fate cause)
{
    atomic_fetch_add_explicit(&agent.arena->process_counts[WIRE_SOURCE_SAMPLES][cause], 1, memory_order_relaxed);
    if (sample_agent_reasons[cause] && atomic_exchange(&told[cause], agent.pid) != agent.pid)
        emit_note(WIRE_DIAGNOSTIC, 2, NULL, 0, sample_agent_reasons[cause]);
}

/* ---- Timers ---------------------------------------------------------------------------------------------------- */

/* A timer holds one of the signals that the user may have pending, for as long as it exists. Half of these are left to
 * the program and to all others of its user. The collector counts how many are left for timers, because the agent would
 * need one of the program's descriptors to read it. */
static int take_spare_signal(void)
{
    uint32_t left = atomic_load_explicit(&wire_samples(agent.arena)->timers_left, memory_order_relaxed);
    do {
        if (left == 0)
            return 0;
    } while (!atomic_compare_exchange_weak(&wire_samples(agent.arena)->timers_left, &left, left - 1));
    return 1;
}

static void give_spare_signal(void)
{
    atomic_fetch_add(&wire_samples(agent.arena)->timers_left, 1);
}

/* True if the thread had a timer. Any thread may stop the timer of any other, but only one succeeds. */
static int stop_timer(struct agent_thread *thread)
{
    uint32_t timer = __atomic_exchange_n(&sample_of(thread)->timer, NO_TIMER, __ATOMIC_SEQ_CST);
    if (timer != NO_TIMER) {
        sys_call3(SYS_timer_delete, (long)timer - 1, 0, 0);
        give_spare_signal();
    }
    return timer != NO_TIMER;
}

/* SAMPLE_HAS_STACK if the thread now has a stack and a timer; otherwise the reason why not. */
static enum wire_fate start_timer(struct agent_thread *thread, uint64_t period_ns)
{
    struct sigevent event = { .sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SAMPLE_SIGNAL };
    int timer;
    event._sigev_un._tid = sys_gettid();
    enum wire_fate fate = sample_stack_give(thread);
    if (fate != SAMPLE_HAS_STACK)
        return fate;
    if (!take_spare_signal())
        return WIRE_UNSAMPLED_TIMER;
    if (sys_call3(SYS_timer_create, CLOCK_THREAD_CPUTIME_ID, (long)&event, (long)&timer) != 0) {
        give_spare_signal();
        return WIRE_UNSAMPLED_TIMER;
    }
    sample_of(thread)->period_us = (uint32_t)(period_ns / 1000);
    set_timer(timer, period_ns);
    __atomic_store_n(&sample_of(thread)->timer, (uint32_t)timer + 1, __ATOMIC_SEQ_CST);
    return SAMPLE_HAS_STACK;
}

static void sample_agent_thread_begin(struct agent_thread *thread)
{
    uint64_t period_ns = (uint64_t)sample_agent_period_us() * 1000;
    if (!(agent.sources & WIRE_BIT(SAMPLES)) || period_ns < PERIOD_LEAST_NS)
        return;
    enum wire_fate fate = take_signal() == 0 ? start_timer(thread, period_ns) : WIRE_UNSAMPLED_SIGNAL;
    if (fate != SAMPLE_HAS_STACK)
        count_unsampled(fate);
    else if (atomic_load(&signal_owner) == SIGNAL_PROGRAMS && stop_timer(thread))
        /* The program has taken the signal just now, and did not see this timer. */
        count_unsampled(WIRE_UNSAMPLED_SIGNAL);
}

/* A pending signal would be delivered later, and kill the process if its stack has no room. So it is removed. */
void sample_thread_stop(struct agent_thread *thread, enum wire_fate cause)
{
    uint64_t signals = SAMPLE_SIGNAL_BIT;
    struct timespec none = { 0 };
    if (!stop_timer(thread))
        return;
    count_unsampled(cause);
    while (sys_call6(SYS_rt_sigtimedwait, (long)&signals, 0, (long)&none, sizeof signals, 0, 0) == SAMPLE_SIGNAL)
        ;
}

/* Number of thread slots that were ever used. Their threads may have ended. */
static uint32_t sample_agent_count_threads(void)
{
    uint32_t taken = atomic_load_explicit(&agent.arena->threads_taken, memory_order_relaxed);
    uint32_t mapped = atomic_load_explicit(&agent.threads.mapped, memory_order_acquire);
    return taken < mapped ? taken : mapped;
}

/* Stops all timers, so that no further signal comes. Returns how many there were. */
static uint32_t stop_timers(void)
{
    uint32_t stopped = 0;
    for (uint32_t i = 0; i < sample_agent_count_threads(); i++)
        stopped += (uint32_t)stop_timer(area_unit(&agent.threads, i));
    return stopped;
}

static void set_timers(int on)
{
    for (uint32_t i = 0; i < sample_agent_count_threads(); i++) {
        struct agent_thread *thread = area_unit(&agent.threads, i);
        uint32_t timer = __atomic_load_n(&sample_of(thread)->timer, __ATOMIC_SEQ_CST);
        if (timer != NO_TIMER)
            set_timer((int)timer - 1, on ? (uint64_t)sample_of(thread)->period_us * 1000 : 0);
    }
}

static int has_ended_relay;

/* Other threads keep the agent's stack, because a thread can change only its own: their handlers with SA_ONSTACK run
 * there. So does the caller, if the program may believe that the stack is its own (sample_relay.c). */
static int end_relay(void)
{
    int has_ended = relay_end();
    if (has_ended && !sample_is_over())
        sample_stack_give_back();
    return has_ended;
}

static void sample_agent_leave(void)
{
    set_timers(0);
    has_ended_relay = end_relay();
}

static void come_back(void)
{
    if (has_ended_relay) {
        relay_begin();
        if (agent_is_thread(agent_self) && sample_of(agent_self)->signal_stack)
            sample_stack_give(agent_self);
    }
    set_timers(1);
}

/* A forked child has one thread, with its parent's handlers and stack. */
static void not_attached(void)
{
    end_relay();
}

void sample_give_signal_back(void)
{
    /* The kernel's own layout: libc's function would leave a trace in the flags. */
    uint64_t none[4] = { 0 };
    if (!agent_is_own_process() || !(agent.sources & WIRE_BIT(SAMPLES)) ||
        atomic_exchange(&signal_owner, SIGNAL_PROGRAMS) != SIGNAL_OURS)
        return;
    for (uint32_t stopped = stop_timers(); stopped > 0; stopped--)
        count_unsampled(WIRE_UNSAMPLED_SIGNAL);
    /* The kernel drops pending signals when the action is the default, which is to do nothing. */
    sys_call6(SYS_rt_sigaction, SAMPLE_SIGNAL, (long)none, 0, 8, 0, 0);
    emit_note(WIRE_DIAGNOSTIC, 2, NULL, 0,
              "No more CPU samples: the program started to use SIGURG, the signal of the sampling timers.");
}

/* ---- Sums ------------------------------------------------------------------------------------------------------ */

/* A thread was put on a CPU as often as it was taken off one, and once more for now. */
static void sample_agent_note_sums(void)
{
    struct rusage usage;
    if (!wire_samples(agent.arena)->sums || sys_call3(SYS_getrusage, RUSAGE_THREAD, (long)&usage, 0) != 0)
        return;
    uint64_t sums[] = { sys_clock_ns(CLOCK_THREAD_CPUTIME_ID),
                        (uint64_t)usage.ru_nvcsw + (uint64_t)usage.ru_nivcsw + 1 };
    emit_note(WIRE_THREAD_SUMS, 0, sums, 2, NULL);
}

/* ---- The row --------------------------------------------------------------------------------------------------- */

static void thread_ending(struct agent_thread *thread)
{
    sample_agent_note_sums();
    stop_timer(thread);
    sample_stack_take(thread);
}

const struct agent_source agent_source_samples = {
    .thread_begin = sample_agent_thread_begin,
    .thread_ending = thread_ending,
    .not_attached = not_attached,
    .leave = sample_agent_leave,
    .come_back = come_back,
    .show_signal_stack = sample_stack_show_as_set,
};
