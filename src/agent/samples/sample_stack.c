/* The alternate stack for the handler of samples (samples_agent.c). The kernel has one of the agent for each sampled
 * thread, whatever the program has set: a coroutine may have no room for the kernel's signal frame, and an alternate
 * stack of the program is for the program alone.
 *
 * The program does not see it: sigaltstack() returns the stack that the program has set, and its handlers with
 * SA_ONSTACK are moved to where the kernel would have put them (sample_relay.c). Only what the kernel says counts,
 * never what the agent remembers: the return from a handler restores the stack of before, and a forked child has its
 * parent's. So the size of the kernel's stack encodes which stack of the program it stands for. Its end is always the
 * same; its first address is 16 bytes higher for each of the last few stacks that the program has set. Those are stored
 * after the end, with a mark that identifies the agent's stack.
 *
 * Only calls through libc are seen. If the program sets a stack by a raw system call, samples run on that one. */
#include "sample_stack.h"

#include <sys/auxv.h>

#include "agent/core/agent.h"
#include "agent/core/arena_window.h"
#include "agent/core/sys.h"
#include "samples.h"

#ifndef AT_MINSIGSTKSZ
#define AT_MINSIGSTKSZ 51
#endif
#ifndef SS_AUTODISARM
#define SS_AUTODISARM (1 << 31)
#endif
#define FRAME_USUAL 4096u    /* enough for kernels that do not report it: those with larger registers do */
#define STACK_STEP 65536u    /* whole pages for any page size */
/* Number of stored stacks. A handler that has set more than these before it returns loses its first ones. */
#define KEPT 64u
#define KEPT_STEP 16u
#define MARK UINT64_C(0x6b63617473207374)

/* Lies after the end of the agent's stack. */
struct stack_head {
    uint64_t mark;
    uint32_t next;
    stack_t kept[KEPT]; /* stacks that the program has set; the first is "none" */
};

/* Room for a signal frame with all registers of this CPU, and for the handler. */
static size_t stack_bytes(void)
{
    static _Atomic size_t bytes;
    size_t known = atomic_load_explicit(&bytes, memory_order_relaxed);
    if (unlikely(!known)) {
        int saved_errno = errno; /* getauxval() sets it on an older kernel */
        size_t frame = getauxval(AT_MINSIGSTKSZ);
        errno = saved_errno;
        known = STACK_STEP + ((frame ? frame : FRAME_USUAL) + STACK_STEP - 1) / STACK_STEP * STACK_STEP;
        atomic_store_explicit(&bytes, known, memory_order_relaxed);
    }
    return known;
}

static char *sample_stack_end_of(const stack_t *stack)
{
    return (char *)stack->ss_sp + stack->ss_size;
}

/* ---- Which stack it stands for --------------------------------------------------------------------------------- */

static int sample_stack_is_ours(const stack_t *stack)
{
    size_t shorter = stack_bytes() - stack->ss_size;
    const struct stack_head *head = (const void *)sample_stack_end_of(stack);
    return shorter < KEPT * KEPT_STEP && shorter % KEPT_STEP == 0 && sys_can_read(head) &&
           head->mark == (MARK ^ (uintptr_t)head);
}

const stack_t *sample_stack_stands_for(const stack_t *stack)
{
    const struct stack_head *head = (const void *)sample_stack_end_of(stack);
    return sample_stack_is_ours(stack) ? &head->kept[(stack_bytes() - stack->ss_size) / KEPT_STEP] : NULL;
}

static int sample_stack_is_same(const stack_t *a, const stack_t *b)
{
    return a->ss_sp == b->ss_sp && a->ss_size == b->ss_size && a->ss_flags == b->ss_flags;
}

static stack_t ours_for(struct stack_head *head, const stack_t *program)
{
    stack_t kept = { .ss_sp = program->ss_sp,
                     .ss_flags = program->ss_flags & ~SS_ONSTACK,
                     .ss_size = program->ss_size };
    uint32_t index = 0;
    while (index < KEPT && !sample_stack_is_same(&head->kept[index], &kept))
        index++;
    if (index == KEPT) {
        index = 1 + head->next++ % (KEPT - 1);
        head->kept[index] = kept;
    }
    size_t bytes = stack_bytes() - index * KEPT_STEP;
    int flags = kept.ss_flags & SS_DISABLE ? 0 : kept.ss_flags & SS_AUTODISARM;
    return (stack_t){ .ss_sp = (char *)head - bytes, .ss_flags = flags, .ss_size = bytes };
}

int sample_stack_contains(const stack_t *stack, uintptr_t address)
{
    uintptr_t first = (uintptr_t)stack->ss_sp;
    return !(stack->ss_flags & (SS_DISABLE | SS_AUTODISARM)) && address > first && address - first <= stack->ss_size;
}

void sample_stack_show_as_set(stack_t *stack)
{
    const stack_t *program = sample_stack_stands_for(stack);
    if (!program)
        return;
    *stack = *program;
    if (sample_stack_contains(program, (uintptr_t)__builtin_frame_address(0)))
        stack->ss_flags |= SS_ONSTACK;
}

void sample_stack_ask(stack_t *stack)
{
    *stack = (stack_t){ .ss_flags = SS_DISABLE };
    sys_sigaltstack(NULL, stack);
    sample_stack_show_as_set(stack);
}

/* The kernel disables a stack with SS_AUTODISARM while a handler runs on it. */
void sample_stack_disarm(const stack_t *stack)
{
    stack_t none = { .ss_flags = SS_DISABLE };
    if (stack->ss_flags & SS_AUTODISARM) {
        stack_t ours = ours_for((struct stack_head *)(void *)sample_stack_end_of(stack), &none);
        sys_sigaltstack(&ours, NULL);
    }
}

/* ---- The stack of a thread ------------------------------------------------------------------------------------- */

static size_t mapping_bytes(void)
{
    return STACK_STEP + stack_bytes() + STACK_STEP;
}

static char *mapping_of(const struct stack_head *head)
{
    return (char *)(uintptr_t)head - stack_bytes() - STACK_STEP;
}

/* Below the stack is a guard that cannot be written, so that an overflow does not overwrite other memory. */
static struct stack_head *map_stack(void)
{
    char *memory = window_map_inherited(mapping_bytes());
    if (!memory)
        return NULL;
    struct stack_head *head = (void *)(memory + STACK_STEP + stack_bytes());
    head->mark = MARK ^ (uintptr_t)head;
    for (uint32_t i = 0; i < KEPT; i++)
        head->kept[i].ss_flags = SS_DISABLE;
    sys_mprotect(memory, STACK_STEP, PROT_NONE);
    return head;
}

enum wire_fate sample_stack_give(struct agent_thread *thread)
{
    stack_t now = { 0 };
    if (sys_sigaltstack(NULL, &now) != 0)
        return WIRE_UNSAMPLED_TIMER;
    if (sample_stack_is_ours(&now)) {
        sample_of(thread)->signal_stack = (void *)sample_stack_end_of(
            &now); /* in a forked child it is the parent's stack */
        return SAMPLE_HAS_STACK;
    }
    if (!sample_of(thread)->signal_stack)
        sample_of(thread)->signal_stack = map_stack();
    if (!sample_of(thread)->signal_stack)
        return WIRE_UNSAMPLED_TIMER;
    stack_t ours = ours_for(sample_of(thread)->signal_stack, &now);
    return sys_sigaltstack(&ours, NULL) == 0 ? SAMPLE_HAS_STACK : WIRE_UNSAMPLED_TIMER;
}

int sample_stack_give_back(void)
{
    stack_t now = { 0 };
    if (sys_sigaltstack(NULL, &now) != 0)
        return 0;
    const stack_t *program = sample_stack_stands_for(&now);
    return !program || sys_sigaltstack(program, NULL) == 0;
}

/* Handlers of the program may still run after this, so the program's own stack is set first. */
void sample_stack_take(struct agent_thread *thread)
{
    struct stack_head *head = sample_of(thread)->signal_stack;
    sample_of(thread)->signal_stack = NULL;
    if (head && sample_stack_give_back())
        window_unmap(mapping_of(head), mapping_bytes());
}
