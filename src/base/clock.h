/* Clocks: the raw counter of the CPU and the kernel's clocks, at the lowest cost. Inline; needs libc only. */
#ifndef TACHO_BASE_CLOCK_H
#define TACHO_BASE_CLOCK_H

#include <stdint.h>
#include <time.h>

#if defined(__x86_64__)
#include <cpuid.h>
#include <x86intrin.h>
#endif

/* Reads the raw counter, in ticks that must be calibrated. The reading is not ordered with other instructions, which
 * is good to a few ns. Other machines (WebAssembly) have no counter. */
#if defined(__x86_64__)
static inline uint64_t clock_ticks(void)
{
    return __rdtsc();
}
#elif defined(__aarch64__)
static inline uint64_t clock_ticks(void)
{
    uint64_t ticks;
    __asm__ volatile("mrs %0, cntvct_el0" : "=r"(ticks));
    return ticks;
}
#endif

/* Whether the raw counter runs at one rate on all cores whatever their frequency and sleep. */
static inline int clock_ticks_invariant(void)
{
#if defined(__x86_64__)
    unsigned a, b, c, d;
    return __get_cpuid(0x80000007, &a, &b, &c, &d) && (d >> 8 & 1);
#else
    return 1; /* the architecture guarantees it */
#endif
}

static inline int64_t clock_ns(clockid_t id)
{
    struct timespec now;
    clock_gettime(id, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static inline int64_t clock_monotonic_ns(void)
{
    return clock_ns(CLOCK_MONOTONIC);
}

static inline int64_t clock_utc_ns(void)
{
    return clock_ns(CLOCK_REALTIME);
}

/* CPU time of this thread. */
static inline int64_t clock_thread_ns(void)
{
#if defined(__wasm__)
    return clock_monotonic_ns(); /* there is no other clock */
#else
    return clock_ns(CLOCK_THREAD_CPUTIME_ID);
#endif
}

/* A limit on the CPU time of a thread: what others take of a busy machine does not count. That clock is a system call,
 * and is read only when enough time has passed for the limit to be reached. */
struct clock_limit {
    int64_t end_ns;  /* CPU time */
    int64_t look_ns; /* the earliest time at which it can be over */
};

static inline struct clock_limit clock_limit_begin(int64_t ns)
{
    return (struct clock_limit){ clock_thread_ns() + ns, clock_monotonic_ns() + ns };
}

/* To be asked by the thread that has begun it. */
static inline int clock_limit_is_over(struct clock_limit *limit)
{
    int64_t now = clock_monotonic_ns();

    if (now <= limit->look_ns)
        return 0;
    int64_t left = limit->end_ns - clock_thread_ns();
    limit->look_ns = now + left;
    return left < 0;
}

#endif
