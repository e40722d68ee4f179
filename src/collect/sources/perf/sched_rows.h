/* Scheduling: context switches become rows of SCHED_EVENTS, and what the kernel adds up itself (time on a CPU, time in
 * a run queue, load of each CPU) becomes rows of TACHO_THREAD_SCHED and TACHO_CPU_TIME.
 *
 * A switch says whether the thread was preempted or waited, but not when it was woken: how long it was in a run queue
 * altogether comes from schedstat. */
#ifndef TACHO_COLLECT_SOURCES_PERF_SCHED_ROWS_H
#define TACHO_COLLECT_SOURCES_PERF_SCHED_ROWS_H

#include <stddef.h>
#include <stdint.h>

struct collector;
struct process;

enum sched_change { SCHED_IN, SCHED_PREEMPTED, SCHED_WAITS, SCHED_ENDS };

void sched_switch(struct collector *collector, int64_t time_ns, uint32_t cpu, int64_t global_tid,
                  enum sched_change change);

/* Sums that a thread had at the end, as it said itself. How long it was in run queues only the kernel's files tell:
 * that stays as of the last look, and is 0 for a thread that began and ended between two. */
void sched_note_end(struct collector *collector, int64_t global_tid, uint64_t run_ns, uint64_t slices);

/* Reads the sums of a process's threads; those of a process that has just ended too, while it is not reaped. */
void sched_look(struct process *process);

/* Reads the load of all CPUs, and the sums of all threads. Now and then, and at the end. */
void sched_tick(struct collector *collector);

/* Writes what was added up, and lets go of it. */
void sched_finish(struct collector *collector);
void sched_free(struct collector *collector);

#endif
