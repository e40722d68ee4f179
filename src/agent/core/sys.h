/* System calls without libc, for the agent's own use.
 *
 * libc's wrappers are the functions that the agent hooks, they set errno, and they are cancellation points. These
 * functions do neither: each returns the kernel's answer, -errno on failure, and never unwinds. The agent must not use
 * a libc wrapper where there is a function here. */
#ifndef TACHO_AGENT_CORE_SYS_H
#define TACHO_AGENT_CORE_SYS_H

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>

#if defined(__x86_64__)
static inline long sys_call6(long number, long a, long b, long c, long d, long e, long f)
{
    long result;
    register long r10 __asm__("r10") = d;
    register long r8 __asm__("r8") = e;
    register long r9 __asm__("r9") = f;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                     : "rcx", "r11", "memory");
    return result;
}
#elif defined(__aarch64__)
static inline long sys_call6(long number, long a, long b, long c, long d, long e, long f)
{
    register long x8 __asm__("x8") = number;
    register long x0 __asm__("x0") = a;
    register long x1 __asm__("x1") = b;
    register long x2 __asm__("x2") = c;
    register long x3 __asm__("x3") = d;
    register long x4 __asm__("x4") = e;
    register long x5 __asm__("x5") = f;
    __asm__ volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5) : "memory", "cc");
    return x0;
}
#else
#error "the agent knows the system calls of x86_64 and aarch64"
#endif

static inline long sys_call3(long number, long a, long b, long c)
{
    return sys_call6(number, a, b, c, 0, 0, 0);
}

/* ---- Files ----------------------------------------------------------------------------------------------------- */

static inline int sys_close(int file)
{
    return (int)sys_call3(SYS_close, file, 0, 0);
}
/* The length, not NUL-terminated, or -errno. */
static inline long sys_readlinkat(int folder, const char *path, char *to, size_t bytes)
{
    return sys_call6(SYS_readlinkat, folder, (long)path, (long)to, (long)bytes, 0, 0);
}
static inline long sys_readlink(const char *path, char *to, size_t bytes)
{
    return sys_readlinkat(AT_FDCWD, path, to, bytes);
}
static inline int sys_symlinkat(const char *text, int folder, const char *path)
{
    return (int)sys_call3(SYS_symlinkat, (long)text, folder, (long)path);
}
/* Like access(), by the same system call that libc makes: it checks with the rights of the real user, and without
 * capabilities that exec would drop. */
static inline int sys_access(const char *path, int mode)
{
#if defined(SYS_access)
    return (int)sys_call3(SYS_access, (long)path, mode, 0);
#else
    return (int)sys_call3(SYS_faccessat, AT_FDCWD, (long)path, mode);
#endif
}

static inline int sys_openat(int folder, const char *path, int flags)
{
    return (int)sys_call6(SYS_openat, folder, (long)path, flags, 0, 0, 0);
}
static inline long sys_read(int file, void *to, size_t bytes)
{
    return sys_call3(SYS_read, file, (long)to, (long)bytes);
}

static inline int sys_fcntl(int file, int command)
{
    return (int)sys_call3(SYS_fcntl, file, command, 0);
}
static inline long sys_pread(int file, void *to, size_t bytes, int64_t offset)
{
    return sys_call6(SYS_pread64, file, (long)to, (long)bytes, offset, 0, 0);
}

/* ---- Sockets --------------------------------------------------------------------------------------------------- */

static inline int sys_socket(int family, int type, int protocol)
{
    return (int)sys_call3(SYS_socket, family, type, protocol);
}
static inline int sys_connect(int file, const void *address, socklen_t bytes)
{
    return (int)sys_call3(SYS_connect, file, (long)address, bytes);
}
static inline int sys_setsockopt(int file, int level, int option, const void *value, socklen_t bytes)
{
    return (int)sys_call6(SYS_setsockopt, file, level, option, (long)value, bytes, 0);
}
static inline long sys_sendmsg(int file, const struct msghdr *message, int flags)
{
    return sys_call3(SYS_sendmsg, file, (long)message, flags);
}
static inline long sys_recvmsg(int file, struct msghdr *message, int flags)
{
    return sys_call3(SYS_recvmsg, file, (long)message, flags);
}

/* ---- Memory ---------------------------------------------------------------------------------------------------- */

/* Like mmap(); sys_failed() of the result is true after a failure. */
static inline void *sys_mmap(void *address, size_t bytes, int protection, int flags, int file, int64_t offset)
{
    return (void *)sys_call6(SYS_mmap, (long)address, (long)bytes, protection, flags, file, offset);
}
/* -errno if this pointer is a failure, else 0. */
static inline int sys_failed(const void *pointer)
{
    return (uintptr_t)pointer >= (uintptr_t)-4095 ? (int)(intptr_t)pointer : 0;
}
static inline void *sys_mremap(void *address, size_t bytes, size_t new_bytes, int flags)
{
    return (void *)sys_call6(SYS_mremap, (long)address, (long)bytes, (long)new_bytes, flags, 0, 0);
}
static inline int sys_munmap(void *address, size_t bytes)
{
    return (int)sys_call3(SYS_munmap, (long)address, (long)bytes, 0);
}
static inline int sys_mprotect(void *address, size_t bytes, int protection)
{
    return (int)sys_call3(SYS_mprotect, (long)address, (long)bytes, protection);
}
static inline int sys_madvise(void *address, size_t bytes, int advice)
{
    return (int)sys_call3(SYS_madvise, (long)address, (long)bytes, advice);
}
static inline int sys_mlock2(const void *address, size_t bytes, int flags)
{
    return (int)sys_call3(SYS_mlock2, (long)address, (long)bytes, flags);
}
static inline int sys_mlockall(int flags) /* 0: munlockall() */
{
    return (int)sys_call3(flags ? SYS_mlockall : SYS_munlockall, flags, 0, 0);
}
static inline int sys_munlock(const void *address, size_t bytes)
{
    return (int)sys_call3(SYS_munlock, (long)address, (long)bytes, 0);
}

/* ---- Processes, threads, time ---------------------------------------------------------------------------------- */

/* Reads memory of a process, which may be this one. It stops where nothing is mapped. */
static inline long sys_process_vm_readv(int pid, const struct iovec *to, size_t to_count, const struct iovec *from,
                                        size_t from_count)
{
    return sys_call6(SYS_process_vm_readv, pid, (long)to, (long)to_count, (long)from, (long)from_count, 0);
}
static inline int sys_getrlimit(int resource, struct rlimit *limit)
{
    return (int)sys_call6(SYS_prlimit64, 0, resource, 0, (long)limit, 0, 0);
}
static inline int sys_getpid(void)
{
    return (int)sys_call3(SYS_getpid, 0, 0, 0);
}
static inline int sys_getppid(void)
{
    return (int)sys_call3(SYS_getppid, 0, 0, 0);
}
static inline int sys_gettid(void)
{
    return (int)sys_call3(SYS_gettid, 0, 0, 0);
}
static inline int sys_prctl(int option, long a, long b, long c, long d)
{
    return (int)sys_call6(SYS_prctl, option, a, b, c, d, 0);
}
static inline int sys_sigaltstack(const stack_t *set, stack_t *old)
{
    return (int)sys_call3(SYS_sigaltstack, (long)set, (long)old, 0);
}
static inline int sys_rt_sigprocmask(int how, const uint64_t *set, uint64_t *old)
{
    return (int)sys_call6(SYS_rt_sigprocmask, how, (long)set, (long)old, sizeof *set, 0, 0);
}
static inline int sys_getpriority(int which, int who) /* 20 - nice value, as the kernel returns it */
{
    return (int)sys_call3(SYS_getpriority, which, who, 0);
}
static inline int sys_nanosleep(const struct timespec *duration, struct timespec *left)
{
    return (int)sys_call3(SYS_nanosleep, (long)duration, (long)left, 0);
}
static inline int sys_clock_gettime(int clock, struct timespec *to)
{
    return (int)sys_call3(SYS_clock_gettime, clock, (long)to, 0);
}

static inline int sys_sched_yield(void)
{
    return (int)sys_call3(SYS_sched_yield, 0, 0, 0);
}
/* Sleeps while the word holds this value, at most most_ns. The word must not be shared with other processes. */
static inline int sys_futex_wait(const _Atomic uint32_t *word, uint32_t value, uint64_t most_ns)
{
    struct timespec most = { .tv_sec = (time_t)(most_ns / 1000000000u), .tv_nsec = (long)(most_ns % 1000000000u) };
    return (int)sys_call6(SYS_futex, (long)word, 0 | 128 /* FUTEX_WAIT, private */, value, (long)&most, 0, 0);
}
/* Sets the list of robust locks of the calling thread: the kernel marks them when the thread ends or calls exec. */
static inline int sys_set_robust_list(const struct robust_list_head *list)
{
    return (int)sys_call3(SYS_set_robust_list, (long)list, sizeof *list, 0);
}
static inline const struct robust_list_head *sys_get_robust_list(void)
{
    const struct robust_list_head *list = NULL;
    size_t bytes;
    return sys_call3(SYS_get_robust_list, 0, (long)&list, (long)&bytes) == 0 ? list : NULL;
}
static inline int sys_futex_wake(const _Atomic uint32_t *word, int threads)
{
    return (int)sys_call6(SYS_futex, (long)word, 1 | 128 /* FUTEX_WAKE, private */, threads, 0, 0, 0);
}

/* Blocks all signals except those that the thread raises by a fault of its own, since a blocked one would kill the
 * process. Returns the mask for sys_release_signals(). */
static inline uint64_t sys_hold_signals(void)
{
    const uint64_t own = 1u << (SIGILL - 1) | 1u << (SIGTRAP - 1) | 1u << (SIGBUS - 1) | 1u << (SIGFPE - 1) |
                         1u << (SIGSEGV - 1) | 1u << (SIGSYS - 1);
    uint64_t all = ~own, before = 0;
    sys_rt_sigprocmask(SIG_BLOCK, &all, &before);
    return before;
}
static inline void sys_release_signals(uint64_t mask)
{
    sys_rt_sigprocmask(SIG_SETMASK, &mask, NULL);
}

/* Tells whether the eight bytes around this address can be read. The kernel copies the signal mask from there before it
 * finds that `how` is invalid, so nothing changes. Seccomp filters allow this call, since libc needs it. */
static inline int sys_can_read(const void *address)
{
    return sys_call6(SYS_rt_sigprocmask, -1, (long)((uintptr_t)address & ~(uintptr_t)7), 0, 8, 0, 0) != -EFAULT;
}

/* Any clock, ns: CLOCK_MONOTONIC, CLOCK_PROCESS_CPUTIME_ID, CLOCK_THREAD_CPUTIME_ID. */
static inline uint64_t sys_clock_ns(int clock)
{
    struct timespec now = { 0 };
    sys_clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}
static inline uint64_t sys_now_ns(void)
{
    return sys_clock_ns(CLOCK_MONOTONIC);
}

#endif
