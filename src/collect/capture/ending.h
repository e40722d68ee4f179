/* Whether the capture is over, and how its end is asked for; what then happens is in shutdown.c.
 *
 * It ends with the program (the first process or the whole tree, as --wait says), with the duration or
 * the last range, or when a signal says so. */
#ifndef TACHO_COLLECT_CAPTURE_ENDING_H
#define TACHO_COLLECT_CAPTURE_ENDING_H

struct collector;

/* The process that we started has this wait status. */
void ending_of_primary(struct collector *collector, int wait_status);

/* Is it over? Leaves the loop if so. */
void ending_check(struct collector *collector);

/* The capture is over though the program may not be: soon the kill signal, a grace period, and out. May be asked for at
 * any time, also while draining. */
void ending_ask(struct collector *collector);

/* The loop ends now. */
void ending_leave(struct collector *collector);

/* Does the capture go on, without a program, for the rest of its duration? */
int ending_waits_for_time(const struct collector *collector);

/* If it is not over soon, whoever looks on is told who is waited for. */
void ending_say_soon(struct collector *collector);

#endif
