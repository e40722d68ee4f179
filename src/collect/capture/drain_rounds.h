/* Rounds of reading: as often as the program writes, all live processes one after another, then what waits for them. */
#ifndef TACHO_COLLECT_CAPTURE_DRAIN_ROUNDS_H
#define TACHO_COLLECT_CAPTURE_DRAIN_ROUNDS_H

struct collector;

int drain_rounds_init(struct collector *collector);
void drain_rounds_start(struct collector *collector);
void drain_rounds_free(struct collector *collector);

/* Ends a process of process_end_soon() that has been read. One at a time, and no more of it than a round may take. */
void drain_rounds_end_next(struct collector *collector);

#endif
