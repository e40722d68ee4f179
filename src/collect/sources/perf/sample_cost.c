/* Measures what a sample costs: see sample_cost.h. The thread reads the clock in a loop while an event interrupts it. A
 * sample is a gap between two readings; other interrupts make gaps, too, but few, so that the median is that of
 * samples. */
#include "sample_cost.h"

#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/clock.h"

enum { GAPS = 32, GAPS_LEAST = 8, STACK_USED = 4096 };
#define AFTERWARDS 1.5
#define LONGEST_NS INT64_C(20000000)
#define RING_BYTES (256u << 10)

int64_t sample_cost_of_gaps(int64_t *gaps_ns, size_t count)
{
    if (count < GAPS_LEAST)
        return 0;
    qsort(gaps_ns, count, sizeof *gaps_ns, array_by_int64);
    return gaps_ns[count / 2];
}

/* Did the kernel write a record? Nobody reads it: it may be overwritten. */
static int has_record(struct perf_ring *ring)
{
    uint64_t head = perf_ring_head(ring);
    if (head == ring->tail)
        return 0;
    ring->tail = head;
    perf_ring_release(ring);
    return 1;
}

static size_t wait_for_gaps(struct perf_ring *ring, int64_t gaps_ns[GAPS])
{
    size_t count = 0;
    int64_t last_ns = clock_monotonic_ns(), end_ns = last_ns + LONGEST_NS;
    while (count < GAPS && last_ns < end_ns) {
        int is_sample = has_record(ring);
        int64_t now_ns = clock_monotonic_ns(); /* after the look: the interrupt lies between the two readings */
        if (is_sample)
            gaps_ns[count++] = now_ns - last_ns;
        last_ns = now_ns;
    }
    return count;
}

/* On a stack that is as deep as those of the program were, so that as much of it is copied. */
static __attribute__((noinline)) size_t wait_on_stack(struct perf_ring *ring, int64_t gaps_ns[GAPS], size_t stack_bytes)
{
    volatile char *deep = __builtin_alloca(stack_bytes + 1);
    for (size_t i = 0; i < stack_bytes; i += 64)
        deep[i] = 1;
    return wait_for_gaps(ring, gaps_ns);
}

double sample_cost_measure(const struct perf_choice *choice, size_t stack_bytes)
{
    int64_t gaps_ns[GAPS];
    struct perf_ring *ring = calloc(1, sizeof *ring);
    int descriptor = ring ? perf_events_open_own(choice) : -1;
    size_t count = 0;
    if (descriptor >= 0 && perf_ring_map(ring, descriptor, RING_BYTES) == 0) {
        size_t more = stack_bytes > STACK_USED ? stack_bytes - STACK_USED : 0;
        perf_events_switch_own(descriptor, 1);
        count = wait_on_stack(ring, gaps_ns, more < choice->stack_bytes ? more : choice->stack_bytes);
        perf_events_switch_own(descriptor, 0);
        perf_ring_unmap(ring);
    }
    if (descriptor >= 0)
        close(descriptor);
    free(ring);
    return (double)sample_cost_of_gaps(gaps_ns, count) * AFTERWARDS;
}
