/* What cannot be beaten on this machine: the bare cost of the things that recording an event consists of. Prints one
 * line of JSON, nanoseconds each. bench/README.md sets our figures against these. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define ROUNDS 2000000u
#define BYTES ((size_t)64 << 20)

static int64_t clock_reading(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

/* CPU time, so that other programs do not count. */
static int64_t now_ns(void)
{
    return clock_reading(CLOCK_THREAD_CPUTIME_ID);
}

static inline uint64_t ticks(void)
{
#if defined(__x86_64__)
    return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
    uint64_t value;
    __asm__ volatile("mrs %0, cntvct_el0" : "=r"(value));
    return value;
#else
    return (uint64_t)clock_reading(CLOCK_MONOTONIC);
#endif
}

static double counter_ns(void)
{
    uint64_t sum = 0;
    int64_t start = now_ns();
    for (unsigned i = 0; i < ROUNDS; i++)
        sum += ticks();
    double each = (double)(now_ns() - start) / ROUNDS;
    __asm__ volatile("" ::"r"(sum));
    return each;
}

static double clock_ns(void)
{
    int64_t start = now_ns(), sum = 0;
    for (unsigned i = 0; i < ROUNDS; i++)
        sum += clock_reading(CLOCK_MONOTONIC);
    double each = (double)(now_ns() - start) / ROUNDS;
    __asm__ volatile("" ::"r"(sum));
    return each;
}

/* A range as it lies in the arena: 24 bytes for the push, 16 for the pop, a counter reading in
 * each, two release stores. */
static double records_ns(unsigned char *memory)
{
    size_t at = 0;
    uint64_t count = 0;
    int64_t start = now_ns();
    for (; at + 40 <= BYTES; at += 40, count++) {
        uint64_t *to = (uint64_t *)(memory + at);
        to[0] = 3;
        to[1] = ticks();
        to[2] = 0x64726177726f66;
        __atomic_store_n((uint64_t *)(void *)(memory + BYTES), at + 24, __ATOMIC_RELEASE);
        to[3] = 2;
        to[4] = ticks();
        __atomic_store_n((uint64_t *)(void *)(memory + BYTES), at + 40, __ATOMIC_RELEASE);
    }
    return (double)(now_ns() - start) / (double)count;
}

static double copy_gb_per_second(unsigned char *to, const unsigned char *from)
{
    int64_t start = now_ns();
    memcpy(to, from, BYTES);
    return (double)BYTES / (double)(now_ns() - start);
}

int main(void)
{
    int descriptor = memfd_create("floors", MFD_CLOEXEC);
    if (descriptor < 0 || ftruncate(descriptor, (off_t)BYTES + 4096) != 0) {
        perror("memfd_create");
        return 1;
    }
    unsigned char *memory = mmap(NULL, BYTES + 4096, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
    unsigned char *other = malloc(BYTES);
    if (memory == MAP_FAILED || !other)
        return 1;
    memset(other, 1, BYTES);
    double cold = records_ns(memory), warm = records_ns(memory);
    copy_gb_per_second(memory, other);
    printf("{\"counter_ns\": %.2f, \"clock_gettime_ns\": %.2f, \"range_records_fresh_memory_ns\": %.2f, "
           "\"range_records_ns\": %.2f, \"memcpy_to_memfd_gb_per_s\": %.2f}\n",
           counter_ns(), clock_ns(), cold, warm, copy_gb_per_second(memory, other));
    return 0;
}
