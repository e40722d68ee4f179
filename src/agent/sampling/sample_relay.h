/* The program's handlers that ask for the alternate stack, where that is ours (sample_relay.c). */
#ifndef TACHO_AGENT_SAMPLING_SAMPLE_RELAY_H
#define TACHO_AGENT_SAMPLING_SAMPLE_RELAY_H

#include <signal.h>

/* From now on threads have stacks of ours: handlers are entered by way of relay_entry(), those
 * that were set already too. */
void relay_begin(void);

/* The kernel gets the program's own handlers back, before a time when no system call of ours may be made.
 * Whether there was a need. */
int relay_end(void);
int relay_has_begun(void); /* and not ended */

/* What to give to the kernel for this action: the same, or another, which is put into room. NULL stays NULL. */
const struct sigaction *relay_wrap(int number, const struct sigaction *action, struct sigaction *room);

/* What the kernel answers, as the program has set it. The action is that of before the call,
 * which may have set another. */
struct relay_action;
const struct relay_action *relay_latest(int number);
void relay_show(const struct relay_action *before, struct sigaction *old);
void *relay_show_handler(const struct relay_action *before, void *old);

#endif
