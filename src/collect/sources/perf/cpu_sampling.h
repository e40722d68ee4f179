/* CPU sampling and scheduling as a whole: by perf events where the kernel lets us, by timers in the agent where it does
 * not; and what the report says of which it was. */
#ifndef TACHO_COLLECT_SOURCES_PERF_CPU_SAMPLING_H
#define TACHO_COLLECT_SOURCES_PERF_CPU_SAMPLING_H

#include <sys/types.h>

#include "wire/wire.h"

struct collector;
struct origin;
struct process;

/* Before the program runs, and before agents come in. The first process is there, and has not called
 * exec; pid 0: it runs already. */
void cpu_start(struct collector *collector, pid_t pid);

/* What agents are to do. */
struct wire_sample_settings cpu_wire_settings(const struct collector *collector);

/* How many timers a process may still make. Before its agent sees the arena, and now and then. */
void cpu_count_timers(struct process *process);

/* WIRE_SAMPLE and WIRE_THREAD_SUMS: 0, or -1 if it makes no sense. */
int cpu_sample(const struct origin *origin, const struct wire_record *record, uint32_t words);
int cpu_thread_sums(const struct origin *origin, const struct wire_record *record, uint32_t words);

/* Now and then. */
void cpu_tick(struct collector *collector);

/* The capture is over; then, when all processes have been read: names, last rows, counts. */
void cpu_end(struct collector *collector);
void cpu_finish(struct collector *collector);
void cpu_free(struct collector *collector);

#endif
