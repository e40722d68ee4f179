/* Handlers of the program that ask for the alternate stack, while that is the agent's (sample_relay.c). */
#ifndef TACHO_AGENT_SAMPLES_SAMPLE_RELAY_H
#define TACHO_AGENT_SAMPLES_SAMPLE_RELAY_H

#include <signal.h>

/* From now on threads have stacks of the agent: handlers are entered through relay_entry(), also those that were
 * installed before. */
void relay_begin(void);

/* Gives the kernel the program's own handlers back, before the agent must stop making system calls. Returns whether
 * there was a need. */
int relay_end(void);
int relay_has_begun(void); /* true between relay_begin() and relay_end() */

/* The action to pass to the kernel in place of this one: the same, or a changed one in `room`. NULL stays NULL. */
const struct sigaction *relay_wrap(int number, const struct sigaction *action, struct sigaction *room);

/* Turns the kernel's answer into the action that the program has set. `before` is the action from before the call,
 * which may have set another. */
struct relay_action;
const struct relay_action *relay_latest(int number);
void relay_show(const struct relay_action *before, struct sigaction *old);
void *relay_show_handler(const struct relay_action *before, void *old);

#endif
