/* The stack that samples run on, and the one that the program believes to be there (sample_stack.c). */
#ifndef TACHO_AGENT_SAMPLING_SAMPLE_STACK_H
#define TACHO_AGENT_SAMPLING_SAMPLE_STACK_H

#include <signal.h>

#include "agent/core/agent.h"

/* The calling thread has a stack of ours from now on; else why it cannot be sampled. */
#define SAMPLE_HAS_STACK WIRE_FATE_COUNT
enum wire_fate sample_stack_give(struct agent_thread *thread);
void sample_stack_take(struct agent_thread *thread);
int sample_stack_give_back(void); /* the program's own to the calling thread, ours stays mapped: whether the
                                   * kernel has none of ours now */

/* Of a stack that the kernel has: the one of the program's that it stands for, or NULL: it is not ours. */
const stack_t *sample_stack_stands_for(const stack_t *stack);
/* never in one with SS_AUTODISARM, as in the kernel */
int sample_stack_contains(const stack_t *stack, uintptr_t address);
void sample_stack_disarm(const stack_t *stack); /* a handler was entered that was interrupted
                                                 * with this one, which is ours */
void sample_stack_show_as_set(stack_t *stack);  /* what the kernel has becomes what the program has set */
void sample_stack_ask(stack_t *stack);          /* as sigaltstack() answers the calling thread */

#endif
