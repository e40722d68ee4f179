/* Signals and the end of a capture: handles the signals that users and schedulers send, and shuts the capture down.
 *
 * When the capture is over (ending.h), a program that still runs gets the kill signal, if there is one, and a short
 * grace period. */
#ifndef TACHO_COLLECT_CAPTURE_SHUTDOWN_H
#define TACHO_COLLECT_CAPTURE_SHUTDOWN_H

struct collector;

/* Blocks the signals that the collector handles, before any thread starts. */
void shutdown_block_signals(struct collector *collector);
void shutdown_restore_signals(struct collector *collector);

/* Restores handlers and limits: in the program between fork and exec, and in our own process when the capture
 * returns. */
void shutdown_give_back(const struct collector *collector);

/* Starts to handle them. -1 on failure. */
int shutdown_init(struct collector *collector);
void shutdown_free(struct collector *collector);

#endif
