/* What the files of CPU sampling and scheduling keep in the collector. */
#ifndef TACHO_COLLECT_SOURCES_PERF_CPU_STATE_H
#define TACHO_COLLECT_SOURCES_PERF_CPU_STATE_H

#include "collect/core/collector.h"
#include "perf_events.h"
#include "symbols/symbols.h"

struct event;
struct samples_process;
struct sched_thread;

/* perf_reader.c */
struct perf {
    int is_open;
    int was_on;             /* has been switched on before */
    struct perf_events events;
    struct event **wakeups; /* one for each CPU */
    uint64_t *heads;        /* of this round, one for each CPU */
    uint64_t damaged;
};

/* sched_rows.c */
struct sched {
    int wanted;
    struct sched_thread *threads; /* open addressing, by global tid */
    size_t thread_count, thread_capacity;
};

/* sample_rows.c */
#define SAMPLES_BUCKETS 1024u /* a power of two */

struct samples {
    struct samples_process *buckets[SAMPLES_BUCKETS]; /* by pid */
    uint64_t doubts;                                  /* times that mappings may have been missed */
    uint64_t ends[SYMBOLS_BROKEN + 1];                /* how their stacks ended */
};

struct cpu_state {
    struct perf perf;
    struct sched sched;
    struct samples samples;
};

static inline struct cpu_state *cpu_state(const struct collector *collector)
{
    return collector->state[COLLECT_SOURCE_SAMPLES];
}

#endif
