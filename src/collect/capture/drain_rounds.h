/* Rounds of reading: a round reads all live processes in turn, then serves whoever waits for them. Rounds come as
 * often as the program writes. */
#ifndef TACHO_COLLECT_CAPTURE_DRAIN_ROUNDS_H
#define TACHO_COLLECT_CAPTURE_DRAIN_ROUNDS_H

#include <stddef.h>
#include <stdint.h>

struct collector;

int drain_rounds_init(struct collector *collector);
void drain_rounds_start(struct collector *collector);
void drain_rounds_free(struct collector *collector);

/* Finishes a process of process_end_soon() whose records have been read: one process per call, and no more of it than
 * a round may take. */
void drain_rounds_end_next(struct collector *collector);

/* The time to the next round after one that has read so many bytes, which came after interval_us. */
int64_t drain_rounds_interval(int64_t interval_us, size_t bytes);

#endif
