/* Arenas to rows: polls the slots of every live process, reads the committed records, and recycles chunks and slots.
 *
 * The program can overwrite everything in an arena at any time. So records are copied into private memory before they
 * are examined, each index and size is read once and checked, and the work of one round is bounded. */
#ifndef TACHO_COLLECT_CAPTURE_DRAIN_H
#define TACHO_COLLECT_CAPTURE_DRAIN_H

#include <stddef.h>
#include <stdint.h>

#include "wire/wire.h"

struct collector;
struct process;
struct event;

#define DRAIN_ROUND_BYTES (2u << 20) /* per round; then the loop serves sockets and signals */

/* Reads committed records, up to about `budget` bytes. Returns the number of bytes read. */
size_t drain_process(struct process *process, size_t budget);

/* Reads as much of a process as one round may take. Returns 1 if there is more. */
int drain_slice(struct process *process);

/* Flush goals. drain_set_goals() notes how far every thread and every source has written, and starts a round at once.
 * drain_reached_goals() returns 1 once every thread has been read up to its goal, whatever it has recorded since.
 * drain_settle_goals() then writes the rows that waited for records of other threads. */
void drain_set_goals(struct collector *collector);
int drain_reached_goals(const struct collector *collector);
void drain_settle_goals(struct collector *collector);

/* Schedules the next round. */
void drain_schedule(struct collector *collector, int64_t interval_us);

/* Recycles a chunk that has been read or is not needed. */
void drain_recycle_chunk(struct process *process, uint32_t index);

/* Writes rows of TACHO_COUNT for everything that all processes have counted since the last call. */
void drain_report_counts(struct collector *collector);

/* Writes rows of TACHO_THREAD for threads whose name has changed since their last row. ThreadNames has the last name of
 * a thread that has ended; if we are killed before that, TACHO_THREAD has it. */
void drain_report_names(struct collector *collector);

/* Writes all records that were read so far, and their counts, into the report: 0, or an ERR_ code. */
int drain_write_down(struct collector *collector);

/* Adds to the process's counts what its threads, also those that still run, have counted since the last call. */
void drain_counts(struct process *process);

/* The process is gone, or is not to be recorded any longer (then end_ns is PROCESS_NO_TIME): reads everything that is
 * left and finishes its threads. */
void drain_finish(struct process *process, int64_t end_ns);

#endif
