/* The state of CPU sampling and scheduling in the collector. */
#ifndef TACHO_COLLECT_SOURCES_PERF_SAMPLES_STATE_H
#define TACHO_COLLECT_SOURCES_PERF_SAMPLES_STATE_H

#include "base/map.h"
#include "collect/core/collector.h"
#include "perf_events.h"
#include "symbols/symbols.h"

struct event;
struct samples_space;

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
struct sched_sums {
    uint64_t run_ns, queue_ns, slices;
};

struct sched_thread {
    int64_t global_tid; /* never 0 */
    struct sched_sums sums;
};
MAP(sched_thread_map, struct sched_thread, int64_t, global_tid, global_tid, hash_number, map_is_same_number)

struct sched {
    int wanted;
    struct sched_thread_map threads;
};

/* sample_rows.c */
struct samples_process {
    pid_t pid;
    struct samples_space *newest; /* owned, as all older ones; never NULL */
    uint64_t doubts;              /* samples.doubts when /proc was last read */
    int64_t looked_ns;            /* then */
};
MAP(samples_process_map, struct samples_process, pid_t, pid, newest, hash_number, map_is_same_number)

struct samples {
    struct samples_process_map processes;
    uint64_t doubts;                   /* how often mappings may have been missed */
    uint64_t ends[SYMBOLS_BROKEN + 1]; /* counts by how unwinding ended */
};

struct samples_state {
    struct perf perf;
    struct sched sched;
    struct samples samples;
};

static inline struct samples_state *samples_state(const struct collector *collector)
{
    return collector->state[COLLECT_SOURCE_SAMPLES];
}

#endif
