/* From arenas to rows: polls the slots of every live process, reads what was committed, hands chunks and slots back.
 *
 * Everything in an arena can be overwritten by the program at any time. Records are therefore copied into
 * private memory before they are looked at, each index and size is read once and checked, and the work
 * done at a stretch is bounded. */
#ifndef TACHO_COLLECT_CAPTURE_DRAIN_H
#define TACHO_COLLECT_CAPTURE_DRAIN_H

#include <stddef.h>
#include <stdint.h>

#include "wire/wire.h"

struct collector;
struct process;
struct event;

#define DRAIN_ROUND_BYTES (2u << 20) /* in a round: then look after sockets and signals */

/* Reads what is there now, up to about `budget` bytes; the number of bytes read. */
size_t drain_process(struct process *process, size_t budget);

/* Reads as much of it as a round may take: is there more? */
int drain_slice(struct process *process);

/* Flush goals. drain_set_goals() notes how far every thread has written, and every source; the next round starts at
 * once. drain_reached_goals() returns 1 once every thread has been read up to its goal, whatever
 * has been recorded since. drain_settle_goals() then writes the rows that waited for records of other threads. */
void drain_set_goals(struct collector *collector);
int drain_reached_goals(const struct collector *collector);
void drain_settle_goals(struct collector *collector);

/* The next round begins so soon. */
void drain_schedule(struct collector *collector, int64_t interval_us);

/* A chunk has been read, or nobody needs it. */
void drain_recycle_chunk(struct process *process, uint32_t index);

/* Rows of TACHO_COUNT for what all processes have counted since the last time. */
void drain_report_counts(struct collector *collector);

/* Writes all that was read so far, and its counts, into the report: 0, or an ERR_ code. */
int drain_write_down(struct collector *collector);

/* Adds to its counts what its threads, those that still run too, have counted since the last time. */
void drain_counts(struct process *process);

/* The process is gone (or not to be recorded any longer: end_ns is then PROCESS_NO_TIME): reads all that is left and
 * finishes its threads. */
void drain_finish(struct process *process, int64_t end_ns);

#endif
