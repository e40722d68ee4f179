/* Where the time of threads went as the scheduler sees it: on a CPU, ready but without one, or waiting.
 *
 * From the switches of SCHED_EVENTS, with the life of a thread from TACHO_THREAD. Only the time in which the capture
 * was on counts, and of it only what a request leaves in. Where there are no switches, the sums of
 * TACHO_THREAD_SCHED stand in for them. */
#ifndef TACHO_ANALYZE_MODEL_SCHED_TIMES_H
#define TACHO_ANALYZE_MODEL_SCHED_TIMES_H

#include "analyze/engine/analysis.h"

enum sched_state { SCHED_RUNNING, SCHED_RUNNABLE, SCHED_WAITING, SCHED_STATES };

struct sched_thread {
    int64_t id;
    int64_t start_ns, end_ns;       /* as far as it was seen */
    int64_t state_ns[SCHED_STATES]; /* they add up to the time that counts of its life */
    int64_t queue_ns;               /* in run queues over its whole life, as the kernel adds it up; -1: not known */
    uint64_t switches, preempted, migrations;
    int has_switches;               /* 0: from sums alone */
};

struct sched_cpu {
    int64_t number;
    int64_t running_ns;       /* of the program's threads */
    uint64_t switches;        /* onto it */
    int has_load;
    int64_t busy_ns, idle_ns; /* of the whole machine's programs, if has_load */
    int64_t first_busy_ns, first_idle_ns;
};

struct sched_times {
    struct sched_thread *threads; /* owned, by id */
    size_t thread_count;
    struct sched_cpu *cpus;       /* owned, by number */
    size_t cpu_count;
    int64_t wall_ns;              /* that counts */
};

int sched_times_read(struct sched_times *times, struct report *report, const struct analysis_request *request,
                     struct error *err);
void sched_times_free(struct sched_times *times);

#endif
