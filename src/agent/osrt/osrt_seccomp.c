/* prctl() and syscall(): calls by which a process limits its own system calls or its clock. From then on the agent is
 * silent: one system call of its own, or one read of the time stamp counter, could kill the program.
 *
 * A seccomp filter outlives exec, so programs that such a process starts are not traced (osrt_exec.c). The agent also
 * leaves a process that only gives up privileges, because a filter often comes next, and not through libc. But programs
 * that this process starts find out by themselves whether they run under a filter (seccomp.c). */
#include <linux/seccomp.h>
#include <sys/prctl.h>

#include "agent/core/agent.h"
#include "agent/core/libc_real.h"
#include "agent/core/lifecycle.h"
#include "agent/core/own_process.h"
#include "agent/core/sys.h"
#include "agent/core/thread.h"
#include "osrt_hooks.h"
#include "osrt_process.h"

#define NO_LIMIT WIRE_LIMIT_COUNT

/* Strict mode forbids the counter too. A NULL filter only asks whether the kernel supports filters. */
static enum wire_limit limit_of_prctl(int option, unsigned long a, unsigned long b)
{
    if (option == PR_SET_SECCOMP && (a != SECCOMP_MODE_FILTER || b))
        return WIRE_LIMIT_FILTER;
    if (option == PR_SET_NO_NEW_PRIVS && a)
        return WIRE_LIMIT_PRIVILEGES;
    return option == PR_SET_TSC && a == PR_TSC_SIGSEGV ? WIRE_LIMIT_CLOCK : NO_LIMIT;
}

static enum wire_limit limit_of_seccomp(unsigned operation, const void *filter)
{
    return operation == SECCOMP_SET_MODE_STRICT || (operation == SECCOMP_SET_MODE_FILTER && filter) ? WIRE_LIMIT_FILTER
                                                                                                    : NO_LIMIT;
}

enum caller { STRANGER, BORROWER, SILENT, LEAVES };

/* A vfork child runs in its parent's memory: a limit of the child must not silence the parent. The pid is read before
 * the call, because under a filter getpid() could be fatal. In a forked child that has not attached, agent.pid is 0. */
static enum caller begin_limit(enum wire_limit limit, struct agent_note *note)
{
    if (limit == NO_LIMIT || agent_is_filtered())
        return STRANGER;
    pid_t pid = sys_getpid();
    if (agent.pid && (uint32_t)pid != agent.pid) {
        if (limit == WIRE_LIMIT_FILTER)
            agent_note_filtered_child(pid);
        return BORROWER;
    }
    if (!agent_attached())
        return SILENT;
    *note = agent_leave(limit);
    return LEAVES;
}

static void end_limit(enum wire_limit limit, enum caller caller, struct agent_note note, int failed)
{
    if (failed && caller == BORROWER && limit == WIRE_LIMIT_FILTER)
        agent_forget_filtered_child();
    if (caller == LEAVES)
        (failed ? agent_come_back : agent_has_left)(note);
    if (!failed && limit == WIRE_LIMIT_FILTER && (caller == SILENT || caller == LEAVES))
        agent.left = agent.filtered = 1;
}

/* ---- prctl ----------------------------------------------------------------------------------------------------- */

static int timed_prctl(int option, unsigned long a, unsigned long b, unsigned long c, unsigned long d)
{
    struct agent_thread *thread = osrt_enter();
    if (!thread)
        return LIBC_REAL(prctl)(option, a, b, c, d);
    OS_TIMED(thread, int, prctl, (option, a, b, c, d), MINUS_ONE)
}

static int limiting_prctl(enum wire_limit limit, int option, unsigned long a, unsigned long b, unsigned long c,
                          unsigned long d)
{
    struct agent_note note = { 0 };
    enum caller caller = begin_limit(limit, &note);
    int result = LIBC_REAL(prctl)(option, a, b, c, d);
    end_limit(limit, caller, note, result != 0);
    return result;
}

int osrt_hook_prctl(int option, unsigned long a, unsigned long b, unsigned long c, unsigned long d)
{
    enum wire_limit limit = limit_of_prctl(option, a, b);
    if (limit != NO_LIMIT)
        return limiting_prctl(limit, option, a, b, c, d);
    int result = timed_prctl(option, a, b, c, d);
    if (option == PR_SET_NAME && result == 0 && agent_attached())
        agent_set_thread_name((const char *)a);
    return result;
}

/* ---- syscall --------------------------------------------------------------------------------------------------- */

/* Only the instructions below call these: the first for the two system calls that can limit a process, the second to
 * find the real function. */
__attribute__((used)) long osrt_limiting_syscall(long number, long a, long b, long c, long d, long e);
__attribute__((used)) void *osrt_find_syscall(void);
__attribute__((used, visibility("hidden"))) void *osrt_real_syscall;

/* With SECCOMP_FILTER_FLAG_TSYNC, seccomp() returns the tid of a thread that could not take the filter, and then no
 * thread has it. With SECCOMP_FILTER_FLAG_TSYNC_ESRCH it returns an error instead, and a positive result is the
 * descriptor of a listener. */
static int has_failed(long number, unsigned long flags, long result)
{
    enum { TSYNC = 1 << 0, TSYNC_ESRCH = 1 << 4 };
    return result == -1 || (number == SYS_seccomp && result > 0 && (flags & (TSYNC | TSYNC_ESRCH)) == TSYNC);
}

long osrt_limiting_syscall(long number, long a, long b, long c, long d, long e)
{
    enum wire_limit limit = number == SYS_seccomp ? limit_of_seccomp((unsigned)a, (const void *)c)
                                                  : limit_of_prctl((int)a, (unsigned long)b, (unsigned long)c);
    struct agent_note note = { 0 };
    enum caller caller = begin_limit(limit, &note);
    long result = LIBC_REAL(syscall)(number, a, b, c, d, e);
    end_limit(limit, caller, note, has_failed(number, (unsigned long)b, result));
    return result;
}

void *osrt_find_syscall(void)
{
    osrt_real_syscall = (void *)LIBC_REAL(syscall);
    return osrt_real_syscall;
}

/* All other system calls jump to the real function, with all registers and the stack unchanged: the call may return
 * twice, in a child on the same stack (vfork), or not at all. */
#define TEXT(number) TEXT_OF(number)
#define TEXT_OF(number) #number
#if defined(__x86_64__)
/* clang-format off */
__asm__(".text\n.p2align 4\n.globl syscall\n.type syscall, @function\nsyscall:\n"
        ".cfi_startproc\n"
        "endbr64\n"
        "cmp $" TEXT(__NR_prctl) ", %rdi\n"
        "je osrt_limiting_syscall\n"
        "cmp $" TEXT(__NR_seccomp) ", %rdi\n"
        "je osrt_limiting_syscall\n"
        "mov osrt_real_syscall(%rip), %rax\n"
        "test %rax, %rax\n"
        "je 1f\n"
        "jmp *%rax\n"
        "1:\n"
        "push %rdi\n.cfi_adjust_cfa_offset 8\n"
        "push %rsi\n.cfi_adjust_cfa_offset 8\n"
        "push %rdx\n.cfi_adjust_cfa_offset 8\n"
        "push %rcx\n.cfi_adjust_cfa_offset 8\n"
        "push %r8\n.cfi_adjust_cfa_offset 8\n"
        "push %r9\n.cfi_adjust_cfa_offset 8\n"
        "sub $8, %rsp\n.cfi_adjust_cfa_offset 8\n"
        "call osrt_find_syscall\n"
        "add $8, %rsp\n.cfi_adjust_cfa_offset -8\n"
        "pop %r9\n.cfi_adjust_cfa_offset -8\n"
        "pop %r8\n.cfi_adjust_cfa_offset -8\n"
        "pop %rcx\n.cfi_adjust_cfa_offset -8\n"
        "pop %rdx\n.cfi_adjust_cfa_offset -8\n"
        "pop %rsi\n.cfi_adjust_cfa_offset -8\n"
        "pop %rdi\n.cfi_adjust_cfa_offset -8\n"
        "jmp *%rax\n"
        ".cfi_endproc\n.size syscall, . - syscall\n");
#elif defined(__aarch64__)
__asm__(".text\n.p2align 4\n.globl syscall\n.type syscall, %function\nsyscall:\n"
        ".cfi_startproc\n"
        "hint 34\n"
        "cmp x0, " TEXT(__NR_prctl) "\n"
        "b.eq osrt_limiting_syscall\n"
        "cmp x0, " TEXT(__NR_seccomp) "\n"
        "b.eq osrt_limiting_syscall\n"
        "adrp x16, osrt_real_syscall\n"
        "ldr x16, [x16, :lo12:osrt_real_syscall]\n"
        "cbz x16, 1f\n"
        "br x16\n"
        "1:\n"
        "stp x29, x30, [sp, -80]!\n.cfi_def_cfa_offset 80\n.cfi_offset 29, -80\n.cfi_offset 30, -72\n"
        "mov x29, sp\n"
        "stp x0, x1, [sp, 16]\n"
        "stp x2, x3, [sp, 32]\n"
        "stp x4, x5, [sp, 48]\n"
        "str x6, [sp, 64]\n"
        "bl osrt_find_syscall\n"
        "mov x16, x0\n"
        "ldp x0, x1, [sp, 16]\n"
        "ldp x2, x3, [sp, 32]\n"
        "ldp x4, x5, [sp, 48]\n"
        "ldr x6, [sp, 64]\n"
        "ldp x29, x30, [sp], 80\n.cfi_restore 29\n.cfi_restore 30\n.cfi_def_cfa_offset 0\n"
        "br x16\n"
        ".cfi_endproc\n.size syscall, . - syscall\n");
/* clang-format on */
#endif
