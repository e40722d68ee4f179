/* When recording is on: delay, duration, capture ranges, and who switches what.
 *
 * The agent of a process that begins or ends a range switches its own recording at once and sets a switch in the
 * arena header (struct wire_switch). The collector propagates it to all other processes, and decides alone what
 * the end of a range means. */
#ifndef TACHO_COLLECT_CAPTURE_RECORDING_H
#define TACHO_COLLECT_CAPTURE_RECORDING_H

#include <stdint.h>

#include "wire/wire.h"

struct collector;
struct process;

int recording_init(struct collector *collector);
void recording_free(struct collector *collector);

/* The program is about to be started: recording goes on now, or when the delay is over. */
void recording_begin(struct collector *collector);

/* Settings and switch of a new arena. */
void recording_prepare_arena(struct collector *collector, struct wire_header *arena);

/* Reads the switches that a process has set since the last time. */
void recording_read_switches(struct collector *collector, struct process *process);

/* The same for the last time. A process that was killed while it set a switch hides those behind it:
 * they are counted as lost. */
void recording_finish_switches(struct collector *collector, struct process *process);

/* Ranges that a process had open end with it. */
void recording_process_ends(struct collector *collector, struct process *process, int64_t time_ns);

/* Recording off everywhere, for good. */
void recording_end(struct collector *collector, int64_t time_ns);

#endif
