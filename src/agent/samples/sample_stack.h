/* The alternate stack for samples, and the one that the program believes to be set (sample_stack.c). */
#ifndef TACHO_AGENT_SAMPLES_SAMPLE_STACK_H
#define TACHO_AGENT_SAMPLES_SAMPLE_STACK_H

#include <signal.h>

#include "agent/core/agent.h"

#define SAMPLE_HAS_STACK WIRE_FATE_COUNT
/* Gives the calling thread a stack of the agent: SAMPLE_HAS_STACK, or why it cannot be sampled. */
enum wire_fate sample_stack_give(struct agent_thread *thread);
void sample_stack_take(struct agent_thread *thread); /* undoes it and unmaps the stack */
/* Sets the program's own stack in the calling thread; the agent's stays mapped. False if the kernel keeps the
 * agent's. */
int sample_stack_give_back(void);

/* The program's stack that this one of the kernel stands for; NULL: it is not the agent's. */
const stack_t *sample_stack_stands_for(const stack_t *stack);
/* As in the kernel, a stack with SS_AUTODISARM contains nothing. */
int sample_stack_contains(const stack_t *stack, uintptr_t address);
/* A handler was entered while the kernel had this stack, which is the agent's. */
void sample_stack_disarm(const stack_t *stack);
void sample_stack_show_as_set(stack_t *stack); /* replaces the kernel's stack by the one that the program has set */
void sample_stack_ask(stack_t *stack);         /* as sigaltstack() answers the calling thread */

#endif
