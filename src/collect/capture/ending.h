/* Decides whether the capture is over, and takes requests to end it; shutdown.c carries them out.
 *
 * A capture ends with the program (the first process or the whole tree, according to --wait), with the duration, with
 * the last range, or on a signal. */
#ifndef TACHO_COLLECT_CAPTURE_ENDING_H
#define TACHO_COLLECT_CAPTURE_ENDING_H

struct collector;

/* The process that we started has ended with this wait status. */
void ending_of_primary(struct collector *collector, int wait_status);

/* Leaves the event loop if the capture is over. */
void ending_check(struct collector *collector);

/* Ends the capture although the program may still run: soon come the kill signal, a grace period, and the end of the
 * loop. May be called at any time, also while draining. */
void ending_ask(struct collector *collector);

/* Ends the loop now. */
void ending_leave(struct collector *collector);

/* Does the capture continue without a program until its duration is over? */
int ending_waits_for_time(const struct collector *collector);

/* Tells the user which processes the capture waits for, if it does not end soon. */
void ending_say_soon(struct collector *collector);

#endif
