/* Samples of CPU time where the kernel's perf events are refused (containers): each thread has a timer on its own CPU clock, whose signal
 * is handled in it; the handler copies its registers and the top of its stack into a record.
 *
 * SIGURG is used, because it does nothing where no one handles it (one that is still on its way when a program calls exec must not
 * end the next), because debuggers pass it on without a word, and because hardly any program has a use for it. Where the program has
 * a handler for it, there are no samples. A thread's timer only runs while the thread does, and the kernel sends its signal on the
 * way back to user space: a call that sleeps is not interrupted. SA_RESTART covers older kernels.
 *
 * The stack is copied by a system call that fails where a plain read would fault. Nothing here allocates or takes a lock.     */
#include <signal.h>
#include <ucontext.h>

#include "core.h"
#include "sys.h"

#define SAMPLE_SIGNAL SIGURG
#define SAMPLE_MAX 64u       /* periods that one sample may stand for: a thread that shares its CPU is seldom on it when the clock
                              * ticks, and catches up. More means that the signal was blocked */
#define NO_TIMER 0           /* agent_thread.timer is the kernel's number and 1 */
#define PERIOD_LEAST_NS 100000u

#if defined(__x86_64__)
#define REGISTERS 17u
static void read_registers(const ucontext_t *context, uint64_t *out)
{
    static const unsigned char places[REGISTERS] = { /* by DWARF's numbers */
        REG_RAX, REG_RDX, REG_RCX, REG_RBX, REG_RSI, REG_RDI, REG_RBP, REG_RSP, REG_R8, REG_R9, REG_R10, REG_R11, REG_R12, REG_R13,
        REG_R14, REG_R15, REG_RIP,
    };
    for (unsigned i = 0; i < REGISTERS; i++)
        out[i] = (uint64_t)context->uc_mcontext.gregs[places[i]];
}
#define STACK_POINTER 7u
#elif defined(__aarch64__)
#define REGISTERS 33u
static void read_registers(const ucontext_t *context, uint64_t *out)
{
    for (unsigned i = 0; i < 31; i++)
        out[i] = context->uc_mcontext.regs[i];
    out[31] = context->uc_mcontext.sp;
    out[32] = context->uc_mcontext.pc;
}
#define STACK_POINTER 31u
#endif
_Static_assert(REGISTERS <= WIRE_SAMPLE_REGISTERS_MAX, "the collector has room for them");

static _Atomic uint32_t refused; /* no timers here: the signal is the program's */

/* ---- The handler ----------------------------------------------------------------------------------------------------------- */

/* Bytes that could be read; the rest of the last word is zeros. */
static uint32_t copy_stack(uint64_t from, uint64_t *to, uint32_t bytes)
{
    uint32_t copied = 0;
    while (copied < bytes) { /* page by page: a call stops at the first page that is not there, and may not say what it got */
        uint32_t part = 4096u - (uint32_t)((from + copied) & 4095u);
        part = part < bytes - copied ? part : bytes - copied;
        struct iovec local = { (char *)to + copied, part }, remote = { (void *)(uintptr_t)(from + copied), part };
        long got = sys_call6(SYS_process_vm_readv, (long)agent.pid, (long)&local, 1, (long)&remote, 1, 0);
        if (got <= 0)
            break;
        copied += (uint32_t)got;
    }
    while (copied & 7)
        ((char *)to)[copied++] = 0;
    return copied;
}

static void emit_sample(struct agent_thread *thread, const ucontext_t *context, uint64_t periods)
{
    const struct wire_sample_settings *settings = &agent.arena->samples;
    uint32_t room = settings->stack_bytes & ~7u;
    struct wire_record *record = emit_begin(thread, WIRE_SOURCE_SAMPLES, WIRE_SAMPLE, WIRE_HEAD_WORDS + 1 + REGISTERS + room / 8);
    if (!record)
        return;
    record->ticks = agent_ticks();
    record->body[0] = periods * settings->period_ns;
    read_registers(context, record->body + 1);
    uint32_t copied = room ? copy_stack(record->body[1 + STACK_POINTER], record->body + 1 + REGISTERS, room) : 0;
    record->a = REGISTERS;
    record->b = (uint16_t)copied;
    record->words = (uint16_t)(WIRE_HEAD_WORDS + 1 + REGISTERS + copied / 8);
    emit_commit(thread, record);
}

static void take_sample(int signal_number, siginfo_t *information, void *context)
{
    int saved_errno = errno;
    struct agent_thread *thread = agent_attached() ? agent_self : NULL;
    if (information->si_code == SI_TIMER && (uintptr_t)thread > (uintptr_t)AGENT_NO_THREAD && agent_recording(WIRE_BIT(SAMPLES))) {
        uint64_t periods = 1 + (uint64_t)(information->si_overrun > 0 ? information->si_overrun : 0);
        for (uint64_t lost = SAMPLE_MAX; lost < periods; lost++)
            agent_count(thread, WIRE_SOURCE_SAMPLES, WIRE_LOST_BLOCKED);
        emit_sample(thread, context, periods < SAMPLE_MAX ? periods : SAMPLE_MAX);
    }
    errno = saved_errno;
}

/* ---- Timers ------------------------------------------------------------------------------------------------------------------- */

/* The handler, if no one else has one: 0, or -1. In a forked child it is there already. */
static int take_signal(void)
{
    struct sigaction now, ours = { .sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK };
    if (sigaction(SAMPLE_SIGNAL, NULL, &now) != 0)
        return -1;
    if ((now.sa_flags & SA_SIGINFO) && now.sa_sigaction == take_sample)
        return 0;
    if ((now.sa_flags & SA_SIGINFO) || now.sa_handler != SIG_DFL)
        return -1;
    ours.sa_sigaction = take_sample;
    return sigaction(SAMPLE_SIGNAL, &ours, NULL);
}

void sample_thread_begin(struct agent_thread *thread)
{
    struct sigevent event = { .sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SAMPLE_SIGNAL };
    uint64_t period_ns = agent.arena->samples.period_ns;
    int timer;
    if (!(agent.sources & WIRE_BIT(SAMPLES)) || period_ns < PERIOD_LEAST_NS || atomic_load_explicit(&refused, memory_order_relaxed))
        return;
    event._sigev_un._tid = sys_gettid();
    if (take_signal() != 0) {
        if (!atomic_exchange(&refused, 1))
            emit_note(WIRE_DIAGNOSTIC, 2, NULL, 0, "CPU samples were not taken in a program that uses SIGURG itself.");
        return;
    }
    if (sys_call3(SYS_timer_create, CLOCK_THREAD_CPUTIME_ID, (long)&event, (long)&timer) != 0)
        return;
    struct timespec period = { .tv_sec = (time_t)(period_ns / 1000000000u), .tv_nsec = (long)(period_ns % 1000000000u) };
    struct itimerspec when = { .it_interval = period, .it_value = period };
    sys_call6(SYS_timer_settime, timer, 0, (long)&when, 0, 0, 0);
    thread->timer = (uint32_t)timer + 1;
}

void sample_thread_end(struct agent_thread *thread)
{
    if (thread->timer != NO_TIMER)
        sys_call3(SYS_timer_delete, (long)thread->timer - 1, 0, 0);
    thread->timer = NO_TIMER;
}

/* No signal of ours comes any more. */
void sample_leave(void)
{
    uint32_t taken = atomic_load_explicit(&agent.arena->threads_taken, memory_order_relaxed);
    for (uint32_t i = 0; i < taken && i < WIRE_THREAD_SLOTS; i++)
        sample_thread_end(&agent.threads[i]);
}

/* ---- Sums ---------------------------------------------------------------------------------------------------------------------- */

static const char *read_number(const char *text, uint64_t *number)
{
    for (*number = 0; *text >= '0' && *text <= '9'; text++)
        *number = *number * 10 + (uint64_t)(*text - '0');
    return *text == ' ' ? text + 1 : text;
}

void sample_note_sums(void)
{
    char text[128] = "";
    uint64_t sums[3];
    if (!agent.arena->samples.sums)
        return;
    int file = sys_openat(AT_FDCWD, "/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return;
    long length = sys_read(file, text, sizeof text - 1);
    sys_close(file);
    const char *at = text;
    for (int i = 0; i < 3; i++)
        at = read_number(at, &sums[i]);
    if (length > 0)
        emit_note(WIRE_THREAD_SUMS, 0, sums, 3, NULL);
}
