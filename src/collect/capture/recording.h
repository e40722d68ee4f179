/* When recording is on: delay, duration, capture ranges, and which side switches it.
 *
 * The agent of a process that begins or ends a range switches its own recording at once and sets a switch in the arena
 * header (struct wire_switch). The collector propagates the change to all other processes. It alone decides what the
 * end of a range means. */
#ifndef TACHO_COLLECT_CAPTURE_RECORDING_H
#define TACHO_COLLECT_CAPTURE_RECORDING_H

#include <stdint.h>

#include "wire/wire.h"

struct collector;
struct process;

int recording_init(struct collector *collector);
void recording_free(struct collector *collector);

/* The program is about to start: recording goes on now, or after the delay. */
void recording_begin(struct collector *collector);

/* Writes the settings and the switch of a new arena. */
void recording_prepare_arena(struct collector *collector, struct wire_header *arena);

/* Applies the switches that a process has set since the last call. */
void recording_read_switches(struct collector *collector, struct process *process);

/* The last call for a process. If it was killed while it set a switch, the switches after that one cannot be read and
 * are counted as lost. */
void recording_finish_switches(struct collector *collector, struct process *process);

/* Ends the ranges that a process had open when it ended. */
void recording_process_ends(struct collector *collector, struct process *process, int64_t time_ns);

/* Switches recording off everywhere, for good. */
void recording_end(struct collector *collector, int64_t time_ns);

#endif
