/* The overhead of the recording: see overhead.h. Reading the clock is most of it and differs between machines (a
 * virtual machine may trap each read), so this file measures it. The rest are the instructions around it, taken from
 * bench/ on a CPU of 2020 or later. */
#include "overhead.h"

#include "base/clock.h"
#include "collect_sources.h"

#define READS 256
#define COST_MAX_NS INT64_C(1000000000000000000)
/* The loader maps and relocates the agent and its dependencies, and the kernel unmaps them at the end. */
#define LOAD_NS 200000
#define START_MAX_NS 1000000000u /* a limit, since the program may have overwritten the agent's figure */

/* The cost of one clock reading in 1/1024 ns. */
static int64_t overhead_reading(void)
{
    int64_t best = INT64_MAX;
    for (int round = 0; round < 8; round++) {
        int64_t start = clock_monotonic_ns();
        uint64_t sum = 0;
        for (int i = 0; i < READS; i++)
            sum += clock_ticks();
        __asm__ volatile("" : : "r"(sum));
        int64_t taken = clock_monotonic_ns() - start;
        best = taken < best ? taken : best;
    }
    return best * 1024 / READS;
}

double overhead_read_ns(void)
{
    return (double)overhead_reading() / 1024;
}

int64_t overhead_of_start(const struct wire_header *arena, int forked)
{
    uint64_t measured = atomic_load_explicit(&arena->start_cpu_ns, memory_order_relaxed);
    return (measured < START_MAX_NS ? (int64_t)measured : 0) + (forked ? 0 : LOAD_NS);
}

/* A double cannot overflow, and the program may have overwritten its counts with any value. */
static int64_t overhead_limited(double ns)
{
    return ns < (double)COST_MAX_NS ? (int64_t)ns : COST_MAX_NS;
}

double overhead_of_counts(int source, const struct collect_counts *counts, double read_ns)
{
    const struct collect_source *row = collect_counted_sources[source];
    if (!row)
        return 0;
    uint64_t counted = counts->lost_damaged;
    for (int fate = 0; fate < WIRE_FATE_COUNT; fate++)
        counted += fate == WIRE_UNTIMED || fate == WIRE_LEFT_OUT ? 0 : counts->fates[fate];
    const struct collect_cost *cost = &row->cost;
    return (double)counts->recorded * (cost->recorded_reads * read_ns + cost->recorded_ns) +
           (double)counted * (cost->counted_reads * read_ns + cost->counted_ns) +
           (double)counts->fates[WIRE_UNTIMED] * cost->untimed_ns +
           (double)counts->fates[WIRE_LEFT_OUT] * cost->left_out_ns;
}

void overhead_estimate(struct collect_result *result)
{
    double read_ns = overhead_read_ns(), sum = (double)result->start_cost_ns;
    for (int i = 0; i < WIRE_SOURCE_COUNT; i++) {
        const struct collect_source *row = collect_counted_sources[i];
        double ns = overhead_of_counts(i, &result->counts[i], read_ns) +
                    (row && row->extra_cost_ns ? row->extra_cost_ns(result) : 0);
        result->source_cost_ns[i] = overhead_limited(ns);
        sum += ns;
    }
    result->cost_ns = overhead_limited(sum);
}
