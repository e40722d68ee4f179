/* Scheduling: context switches become rows of SCHED_EVENTS, and the kernel's own sums (time on a CPU, time in a run
 * queue, load of each CPU) become rows of TACHO_THREAD_SCHED and TACHO_CPU_TIME.
 *
 * A switch says whether the thread was preempted or waited, but not when it was woken up. The total time in run queues
 * comes from schedstat. */
#ifndef TACHO_COLLECT_SOURCES_PERF_SCHED_ROWS_H
#define TACHO_COLLECT_SOURCES_PERF_SCHED_ROWS_H

#include <stddef.h>
#include <stdint.h>

struct collector;
struct process;

enum sched_change { SCHED_IN, SCHED_PREEMPTED, SCHED_WAITS, SCHED_ENDS };

void sched_switch(struct collector *collector, int64_t time_ns, uint32_t cpu, int64_t global_tid,
                  enum sched_change change);

/* The final sums of a thread, from its own record. The time in run queues is only in the kernel's files: it stays at
 * the value of the last look, and is 0 for a thread that began and ended between two looks. */
void sched_note_end(struct collector *collector, int64_t global_tid, uint64_t run_ns, uint64_t slices);

/* Reads the sums of a process's threads; also those of a zombie before it is reaped. */
void sched_look(struct process *process);

/* Reads the load of all CPUs and the sums of all threads. Called at every tick and at the end. */
void sched_tick(struct collector *collector);

/* Writes the sums and frees them. */
void sched_finish(struct collector *collector);
void sched_free(struct collector *collector);

#endif
