/* The time that threads spent in each state of the scheduler: running on a CPU, runnable without one, or waiting.
 *
 * It is computed from the context switches of SCHED_EVENTS and the lifetimes of TACHO_THREAD. Only time in which the
 * capture was on counts, and of it only the request's span. For threads without switches the sums of
 * TACHO_THREAD_SCHED are used. */
#ifndef TACHO_ANALYZE_MODEL_SCHED_TIMES_H
#define TACHO_ANALYZE_MODEL_SCHED_TIMES_H

#include "analyze/engine/analysis.h"

enum sched_state { SCHED_RUNNING, SCHED_RUNNABLE, SCHED_WAITING, SCHED_STATES };

struct sched_thread {
    int64_t id;
    int64_t start_ns, end_ns;       /* of its known lifetime */
    int64_t state_ns[SCHED_STATES]; /* their sum is the part of its lifetime that counts */
    int64_t queue_ns;               /* the kernel's sum of time in run queues, over its lifetime; -1: not known */
    uint64_t switches, preempted, migrations;
    int has_switches;               /* 0: known from sums only */
};

struct sched_cpu {
    int64_t number;
    int64_t running_ns;       /* of the program's threads */
    uint64_t switches;        /* onto it */
    int has_load;
    int64_t busy_ns, idle_ns; /* of all programs on the machine, if has_load */
    int64_t first_busy_ns, first_idle_ns;
};

struct sched_times {
    struct sched_thread *threads; /* owned, by id */
    size_t thread_count;
    struct sched_cpu *cpus;       /* owned, by number */
    size_t cpu_count;
    int64_t wall_ns;              /* time that counts, from the first thread's begin to the last one's end */
};

int sched_times_read(struct sched_times *times, struct report *report, const struct analysis_request *request,
                     struct error *err);
void sched_times_free(struct sched_times *times);

#endif
