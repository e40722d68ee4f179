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

#endif
