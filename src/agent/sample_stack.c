/* The stack that handlers of samples run on (sample.c): each thread has one of ours while it has no alternate stack of its own, since a
 * coroutine may have no room for the kernel's signal frame.
 *
 * The program does not see it: sigaltstack() answers as if there were none, and a thread that gives its own stack up gets ours again. What
 * the kernel says counts, and nothing that is remembered: the return from a handler puts back the stack that was there before it, and a
 * forked child has its parent's. So our stack has a mark by which it is known, below its end.                                       */
#include <signal.h>
#include <sys/auxv.h>

#include "core.h"
#include "os.h"
#include "os_process.h"
#include "sys.h"

#ifndef AT_MINSIGSTKSZ
#define AT_MINSIGSTKSZ 51
#endif
#define FRAME_USUAL 4096u    /* what kernels that do not tell can need: those with larger registers do */
#define HANDLER_NEEDS 2048u  /* without Python's frames, for which the handler looks itself whether there is room */
#define STACK_STEP 65536u    /* whole pages, whatever their size */
/* What the handler needs is little; but a handler of the program's that wants an alternate stack gets this one. Only pages that are
 * used cost memory. */
#define STACK_LEAST (4 * STACK_STEP)
#define MARK UINT64_C(0x6b63617473207374)

#ifndef SS_AUTODISARM
#define SS_AUTODISARM (1 << 31)
#endif
#if defined(__aarch64__)
#define KERNEL_LEAST 5120u
#else
#define KERNEL_LEAST 2048u
#endif

/* With all the registers that this CPU has. */
static size_t frame_bytes(void)
{
    size_t bytes = getauxval(AT_MINSIGSTKSZ);
    return bytes ? bytes : FRAME_USUAL;
}

static size_t stack_bytes(void)
{
    return STACK_LEAST + (frame_bytes() + STACK_STEP - 1) / STACK_STEP * STACK_STEP;
}

static uint64_t *mark_of(const void *stack)
{
    return (uint64_t *)stack - 1;
}

static int is_ours(const stack_t *stack)
{
    return stack->ss_size == stack_bytes() && sys_can_read(mark_of(stack->ss_sp)) && *mark_of(stack->ss_sp) == (MARK ^ (uintptr_t)stack->ss_sp);
}

/* ---- Of a thread ----------------------------------------------------------------------------------------------------------- */

/* Below it is a part that cannot be written: whoever needs more must not write over others' memory. */
static void *map_stack(void)
{
    char *stack = window_map_inherited(STACK_STEP + stack_bytes());
    if (!stack)
        return NULL;
    *mark_of(stack + STACK_STEP) = MARK ^ (uintptr_t)(stack + STACK_STEP);
    sys_mprotect(stack, STACK_STEP, PROT_READ);
    return stack + STACK_STEP;
}

static void unmap_stack(char *stack)
{
    window_unmap(stack - STACK_STEP, STACK_STEP + stack_bytes());
}

static enum wire_fate install(struct agent_thread *thread)
{
    if (!thread->signal_stack)
        thread->signal_stack = map_stack();
    stack_t ours = { .ss_sp = thread->signal_stack, .ss_size = stack_bytes() };
    return ours.ss_sp && sys_sigaltstack(&ours, NULL) == 0 ? SAMPLE_HAS_STACK : WIRE_UNSAMPLED_TIMER;
}

enum wire_fate sample_stack_give(struct agent_thread *thread)
{
    stack_t now = { 0 };
    if (sys_sigaltstack(NULL, &now) != 0)
        return SAMPLE_HAS_STACK;
    if (now.ss_flags & SS_DISABLE)
        return install(thread);
    if (is_ours(&now))
        thread->signal_stack = now.ss_sp; /* in a forked child it is the parent's */
    return now.ss_size >= frame_bytes() + HANDLER_NEEDS ? SAMPLE_HAS_STACK : WIRE_UNSAMPLED_STACK;
}

/* A thread that ends in a handler is on it still: then it stays. */
void sample_stack_take(struct agent_thread *thread)
{
    stack_t now = { 0 }, none = { .ss_flags = SS_DISABLE };
    char *stack = thread->signal_stack;
    thread->signal_stack = NULL;
    if (!stack || sys_sigaltstack(NULL, &now) != 0)
        return;
    if (now.ss_sp != stack || sys_sigaltstack(&none, NULL) == 0)
        unmap_stack(stack);
}

/* ---- sigaltstack() --------------------------------------------------------------------------------------------------------- */

/* On our stack the kernel refuses another, and would not on none: what the program sets in a handler ends with it in any case. */
static int answer_on_ours(const stack_t *set)
{
    int mode = set->ss_flags & ~SS_AUTODISARM;
    if (mode != 0 && mode != SS_ONSTACK && mode != SS_DISABLE)
        errno = EINVAL;
    else if (mode != SS_DISABLE && set->ss_size < KERNEL_LEAST)
        errno = ENOMEM;
    else
        return 0;
    return -1;
}

static int is_on_ours(void)
{
    stack_t now = { 0 };
    return sys_sigaltstack(NULL, &now) == 0 && (now.ss_flags & SS_ONSTACK) && is_ours(&now);
}

static int set_stack(const stack_t *set, stack_t *old)
{
    int saved_errno = errno, result = OS_REAL(sigaltstack)(set, old);
    if (result == 0 || errno != EPERM || !is_on_ours())
        return result;
    errno = saved_errno;
    result = answer_on_ours(set);
    if (result == 0 && old)
        *old = (stack_t){ .ss_flags = SS_DISABLE };
    return result;
}

/* No sample comes between the change and what follows from it. */
static int set_between_samples(struct agent_thread *thread, const stack_t *set, stack_t *old)
{
    uint64_t signals = SAMPLE_SIGNAL_BIT, before = 0;
    sys_rt_sigprocmask(SIG_BLOCK, &signals, &before);
    int result = set_stack(set, old);
    enum wire_fate fate = sample_stack_give(thread);
    if (fate != SAMPLE_HAS_STACK)
        sample_thread_stop(thread, fate);
    sys_rt_sigprocmask(SIG_SETMASK, &before, NULL);
    return result;
}

int os_hook_sigaltstack(const stack_t *set, stack_t *old)
{
    struct agent_thread *thread = set && sample_has_signal() && os_is_own_process() ? agent_thread() : NULL;
    int result = thread ? set_between_samples(thread, set, old) : OS_REAL(sigaltstack)(set, old);
    if (result == 0 && old && is_ours(old))
        *old = (stack_t){ .ss_flags = SS_DISABLE };
    return result;
}
