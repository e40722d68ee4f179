/* The life of a capture: the signals that people and schedulers send, and when it is over.
 *
 * It ends with the program (the first process or the whole tree, as --wait says), with the duration or
 * the last range, or when a signal says so. A program that is still there then gets the kill signal, if
 * there is one, and little time. */
#ifndef TACHO_COLLECT_CAPTURE_SHUTDOWN_H
#define TACHO_COLLECT_CAPTURE_SHUTDOWN_H

struct collector;

/* Blocks the signals that we take over, before any thread is started. */
void shutdown_block_signals(struct collector *collector);
void shutdown_restore_signals(struct collector *collector);

/* Handlers and limits as they were before us: for the program, between fork and exec, and for our own return. */
void shutdown_give_back(const struct collector *collector);

/* Listens to them. -1 when that cannot be had. */
int shutdown_init(struct collector *collector);
void shutdown_free(struct collector *collector);

#endif
