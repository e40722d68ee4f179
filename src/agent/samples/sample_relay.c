/* Handlers of the program that ask for the alternate stack (SA_ONSTACK), while the agent samples by timers. The kernel
 * then has a stack of the agent (sample_stack.c) and would enter these handlers there. So it enters relay_entry()
 * instead, which moves the kernel's signal frame to where it would be without the agent, and jumps to the program's
 * handler. The handler returns to the kernel through the moved frame, and nothing is left on the agent's stack: the
 * handler may jump out, switch contexts or never return.
 *
 * The frame is all that lies between the stack pointer at the entry and the end of the agent's stack. It may be moved
 * in steps that keep its alignment, because it contains no addresses of itself but those that relocate() knows. No
 * signal comes before the frame is in place: the kernel blocks all of them when it enters relay_entry(), which sets the
 * mask of the handler as soon as it has left the agent's stack. A fault during the move kills the program, as it does
 * where the kernel finds no room for a frame.
 *
 * A handler that is entered elsewhere runs where it is: the thread has no stack of the agent, or another handler has
 * called relay_entry(). */
#include "sample_relay.h"

#include <string.h>
#include <ucontext.h>

#include "agent/core/agent.h"
#include "agent/core/libc_real.h"
#include "agent/core/own_process.h"
#include "agent/core/sys.h"
#include "sample_stack.h"
#include "samples.h"

#define SIGNALS 65u      /* signals count from 1 */
#define VERSIONS 8u      /* kept of each action: a reader of one is not disturbed by the next changes */
#define ALIGNMENT 64u    /* of the kernel's data in a frame */
#define WAIT_BYTES 1024u /* of stack between the hook of a waiting call and its system call, at most */
#define BIT(number) (UINT64_C(1) << ((number) - 1))
#define ALL_BLOCKED (~(BIT(SIGKILL) | BIT(SIGSTOP))) /* as the kernel reports it; no set of libc has them all */

struct relay_action {
    void *handler;
    uint64_t mask;
    int flags;
};
static struct relay_action actions[SIGNALS][VERSIONS];
static _Atomic uint32_t taken[SIGNALS], latest[SIGNALS]; /* indices of versions */
static _Atomic int has_begun;

/* relay_move() fills this; relay_entry() loads it into registers and jumps to the handler. */
struct sample_relay_entry {
    char *stack;
    void *handler;
    uint64_t number;
    void *information, *context;
    uint64_t mask;
};
_Static_assert(offsetof(struct sample_relay_entry, stack) == 0 && offsetof(struct sample_relay_entry, handler) == 8 &&
                   offsetof(struct sample_relay_entry, number) == 16 &&
                   offsetof(struct sample_relay_entry, information) == 24 &&
                   offsetof(struct sample_relay_entry, context) == 32 &&
                   offsetof(struct sample_relay_entry, mask) == 40 && sizeof(struct sample_relay_entry) == 48,
               "relay_entry() knows where they are");

__attribute__((visibility("hidden"))) void relay_entry(int number, siginfo_t *information, void *context);
__attribute__((visibility("hidden"), used)) void relay_move(int number, siginfo_t *information, ucontext_t *context,
                                                            char *stack, struct sample_relay_entry *entry);

/* ---- Frames ---------------------------------------------------------------------------------------------------- */

/* relay_entry() uses no callee-saved register, because it may be called as a function. After the last system call
 * signals may come again, and with them samples, which use the agent's stack from its end: from there on nothing reads
 * it. */
#if defined(__x86_64__)
enum { RED_ZONE = 128, IS_ROOM_CHECKED = 1, CONTEXT_OFFSET = 8 };
__asm__(".pushsection .text\n"
        ".globl relay_entry\n"
        ".hidden relay_entry\n"
        ".type relay_entry, @function\n"
        "relay_entry:\n"
        "    endbr64\n"
        "    movq %rsp, %rcx\n"
        "    subq $72, %rsp\n"
        "    movq %rsp, %r8\n"
        "    call relay_move\n"
        "    movq 8(%rsp), %r8\n"
        "    movq 16(%rsp), %r9\n"
        "    movq 24(%rsp), %rax\n"
        "    movq 32(%rsp), %rcx\n"
        "    leaq 40(%rsp), %rsi\n"
        "    movq (%rsp), %rsp\n"
        "    pushq %rax\n"
        "    pushq %rcx\n"
        "    movl $2, %edi\n"  /* SIG_SETMASK */
        "    xorl %edx, %edx\n"
        "    movl $8, %r10d\n"
        "    movl $14, %eax\n" /* rt_sigprocmask */
        "    syscall\n"
        "    popq %rdx\n"
        "    popq %rsi\n"
        "    movl %r9d, %edi\n"
        "    xorl %eax, %eax\n"
        "    jmp *%r8\n"
        ".size relay_entry, . - relay_entry\n"
        ".popsection\n");

static uintptr_t stack_pointer(const ucontext_t *context)
{
    return (uintptr_t)context->uc_mcontext.gregs[REG_RSP];
}

static long result_of_call(const ucontext_t *context)
{
    return context->uc_mcontext.gregs[REG_RAX];
}

/* The registers of the FPU have a pointer to themselves. */
static void relocate(ucontext_t *context, const char *from, const char *end, ptrdiff_t distance)
{
    char *registers = (char *)context->uc_mcontext.fpregs;
    if (registers >= from && registers < end)
        context->uc_mcontext.fpregs = (fpregset_t)(void *)(registers + distance);
}
#elif defined(__aarch64__)
enum { RED_ZONE = 0, IS_ROOM_CHECKED = 0, CONTEXT_OFFSET = sizeof(siginfo_t) };
__asm__(".pushsection .text\n"
        ".globl relay_entry\n"
        ".hidden relay_entry\n"
        ".type relay_entry, @function\n"
        "relay_entry:\n"
        "    hint #34\n" /* bti c */
        "    mov x3, sp\n"
        "    sub sp, sp, #80\n"
        "    stp x29, x30, [sp, #48]\n"
        "    str x3, [sp, #64]\n"
        "    mov x4, sp\n"
        "    bl relay_move\n"
        "    ldp x9, x10, [sp]\n"
        "    ldp x11, x12, [sp, #16]\n"
        "    ldr x13, [sp, #32]\n"
        "    add x1, sp, #40\n"
        "    ldp x29, x30, [sp, #48]\n"
        "    ldr x14, [sp, #64]\n"
        "    sub x14, x9, x14\n"
        "    add x29, x29, x14\n" /* the frame contains a link of the frame chain, which has moved too */
        "    mov sp, x9\n"
        "    mov x0, #2\n"        /* SIG_SETMASK */
        "    mov x2, #0\n"
        "    mov x3, #8\n"
        "    mov x8, #135\n"      /* rt_sigprocmask */
        "    svc #0\n"
        "    mov x0, x11\n"
        "    mov x1, x12\n"
        "    mov x2, x13\n"
        "    mov x16, x10\n"
        "    br x16\n"
        ".size relay_entry, . - relay_entry\n"
        ".popsection\n");

static uintptr_t stack_pointer(const ucontext_t *context)
{
    return context->uc_mcontext.sp;
}

static long result_of_call(const ucontext_t *context)
{
    return (long)context->uc_mcontext.regs[0];
}

/* The context has a list of records. One kind holds the address of further records. */
static void relocate(ucontext_t *context, const char *from, const char *end, ptrdiff_t distance)
{
    const uint32_t extra_magic = 0x45585401;
    char *at = (char *)context->uc_mcontext.__reserved, *last = at + sizeof context->uc_mcontext.__reserved;
    struct {
        uint32_t magic, size;
        uint64_t data;
    } record;
    for (;; at += record.size) {
        memcpy(&record, at, sizeof record);
        if (record.magic == 0 || record.size < sizeof record || record.size > (size_t)(last - at) - sizeof record)
            return;
        if (record.magic == extra_magic && record.data >= (uintptr_t)from && record.data < (uintptr_t)end) {
            record.data += (uint64_t)distance;
            memcpy(at, &record, sizeof record);
        }
    }
}
#endif

/* Where the kernel would have put the frame; NULL if it would have found no room. */
static char *frame_address(const stack_t *program, const ucontext_t *context, const char *frame, size_t bytes)
{
    uintptr_t below = stack_pointer(context) - RED_ZONE, first = (uintptr_t)program->ss_sp;
    int is_inside = sample_stack_contains(program, below), is_entered = !is_inside && !(program->ss_flags & SS_DISABLE);
    uintptr_t place = (is_entered ? first + program->ss_size : below) - bytes;
    place -= (place - (uintptr_t)frame) % ALIGNMENT;
    int has_room = !IS_ROOM_CHECKED || !(is_inside || is_entered) ||
                   (place > first && place - first <= program->ss_size);
    return has_room ? (char *)place : NULL;
}

/* Go sets its alternate stacks without libc, and keeps one that the kernel already has: the agent's. So its handlers
 * must run there. Go always takes SIGURG, by which it is recognised, and then there are no more samples to make room
 * for. */
static int must_stay_on_ours(const stack_t *program)
{
    return (program->ss_flags & SS_DISABLE) && sample_is_over();
}

/* Returns the distance by which the frame was moved; 0 if it stays. */
static ptrdiff_t move_frame(ucontext_t *context, char *frame)
{
    const stack_t *ours = &context->uc_stack, *program = sample_stack_stands_for(ours);
    char *end = (char *)ours->ss_sp + ours->ss_size;
    if (!program || frame < (char *)ours->ss_sp || frame >= end || must_stay_on_ours(program))
        return 0;
    char *place = frame_address(program, context, frame, (size_t)(end - frame));
    memcpy(place, frame, (size_t)(end - frame));
    relocate((void *)((char *)context + (place - frame)), frame, end, place - frame);
    sample_stack_disarm(ours);
    return place - frame;
}

/* The signal mask when the signal came. For a call that waits with a mask of its own, that mask is in effect, but the
 * frame has the mask of after the call. Only the first handler is entered this way. But if that one has no SA_ONSTACK
 * it does not come here, and a signal right after its return is taken for the first. */
static uint64_t mask_before(const ucontext_t *context)
{
    struct agent_thread *thread = agent_attached() ? agent_self : NULL;
    uint64_t mask;
    int has_waited = agent_is_thread(thread) && sample_of(thread)->wait_frame - stack_pointer(context) < WAIT_BYTES;
    if (has_waited && result_of_call(context) == -EINTR) {
        /* The call is over when this handler returns, but its result stays in the register. */
        sample_of(thread)->wait_frame = 0;
        return sample_of(thread)->wait_mask;
    }
    memcpy(&mask, &context->uc_sigmask, sizeof mask);
    return mask;
}

void relay_move(int number, siginfo_t *information, ucontext_t *context, char *stack, struct sample_relay_entry *entry)
{
    const struct relay_action *action = relay_latest(number);
    ptrdiff_t distance = 0;
    if ((char *)context == stack + CONTEXT_OFFSET) { /* entered by the kernel */
        entry->mask = mask_before(context) | action->mask | (action->flags & SA_NODEFER ? 0 : BIT(number));
        distance = move_frame(context, stack);
    } else {
        sys_rt_sigprocmask(SIG_SETMASK, NULL, &entry->mask);
    }
    entry->stack = stack + distance;
    entry->handler = action->handler;
    entry->number = (uint64_t)number;
    entry->information = (char *)information + distance;
    entry->context = (char *)context + distance;
}

/* ---- Actions --------------------------------------------------------------------------------------------------- */

const struct relay_action *relay_latest(int number)
{
    uint32_t signal = number > 0 && (uint32_t)number < SIGNALS ? (uint32_t)number : 0;
    return &actions[signal][atomic_load_explicit(&latest[signal], memory_order_acquire)];
}

static void keep_action(int number, const struct sigaction *action)
{
    uint32_t version = atomic_fetch_add_explicit(&taken[number], 1, memory_order_relaxed) % VERSIONS;
    struct relay_action *kept = &actions[number][version];
    kept->handler = (void *)action->sa_handler;
    kept->flags = action->sa_flags;
    memcpy(&kept->mask, &action->sa_mask, sizeof kept->mask);
    kept->mask &= ALL_BLOCKED; /* as the kernel does */
    atomic_store_explicit(&latest[number], version, memory_order_release);
}

int relay_has_begun(void)
{
    return atomic_load_explicit(&has_begun, memory_order_relaxed) && !agent.left;
}

/* A vfork child has actions of its own but runs in its parent's memory. */
static int is_to_wrap(int number, const struct sigaction *action)
{
    void *handler = (void *)action->sa_handler;
    if (!relay_has_begun() || number <= 0 || (uint32_t)number >= SIGNALS)
        return 0;
    if (!(action->sa_flags & SA_ONSTACK) || handler == (void *)SIG_DFL || handler == (void *)SIG_IGN ||
        handler == (void *)relay_entry)
        return 0;
    return agent_is_own_process();
}

const struct sigaction *relay_wrap(int number, const struct sigaction *action, struct sigaction *room)
{
    if (!action || !is_to_wrap(number, action))
        return action;
    keep_action(number, action);
    *room = *action;
    room->sa_sigaction = relay_entry;
    room->sa_flags |= SA_SIGINFO;
    memset(&room->sa_mask, 0xff, sizeof room->sa_mask);
    return room;
}

static const struct sigaction *unwrap(int number, const struct sigaction *action, struct sigaction *room)
{
    if (action->sa_sigaction != relay_entry)
        return action;
    *room = *action;
    relay_show(relay_latest(number), room);
    return room;
}

static int sample_relay_is_same(const struct sigaction *a, const struct sigaction *b)
{
    return a->sa_sigaction == b->sa_sigaction && a->sa_flags == b->sa_flags &&
           memcmp(&a->sa_mask, &b->sa_mask, sizeof(uint64_t)) == 0;
}

/* An action that another thread sets meanwhile stays. */
static void change_actions(const struct sigaction *(*change)(int number, const struct sigaction *action,
                                                             struct sigaction *room))
{
    int saved_errno = errno; /* libc refuses some signals, which sets errno */
    for (int number = 1; number < (int)SIGNALS; number++) {
        struct sigaction now, room, before;
        if (number == SAMPLE_SIGNAL || LIBC_REAL(sigaction)(number, NULL, &now) != 0 ||
            change(number, &now, &room) != &room)
            continue;
        if (LIBC_REAL(sigaction)(number, &room, &before) == 0 && !sample_relay_is_same(&before, &now))
            LIBC_REAL(sigaction)(number, change(number, &before, &room), NULL);
    }
    errno = saved_errno;
}

void relay_begin(void)
{
    atomic_store_explicit(&has_begun, 1, memory_order_relaxed);
    change_actions(relay_wrap);
}

int relay_end(void)
{
    if (!atomic_exchange(&has_begun, 0))
        return 0;
    change_actions(unwrap);
    return 1;
}

/* After SA_RESETHAND the kernel has the default handler, and the flags and mask of before. */
void relay_show(const struct relay_action *before, struct sigaction *old)
{
    uint64_t mask;
    memcpy(&mask, &old->sa_mask, sizeof mask);
    if (old->sa_sigaction == relay_entry)
        old->sa_handler = (void (*)(int))before->handler;
    else if (old->sa_handler != SIG_DFL || mask != ALL_BLOCKED)
        return;
    old->sa_flags = (old->sa_flags & ~SA_SIGINFO) | (before->flags & SA_SIGINFO);
    memcpy(&old->sa_mask, &before->mask, sizeof before->mask);
}

void *relay_show_handler(const struct relay_action *before, void *old)
{
    return old == (void *)relay_entry ? before->handler : old;
}
