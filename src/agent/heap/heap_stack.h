/* Stacks of programs of which every allocation is recorded: only what has changed since the last one of the thread. */
#ifndef TACHO_AGENT_HEAP_HEAP_STACK_H
#define TACHO_AGENT_HEAP_HEAP_STACK_H

#include "agent/core/stack_copy.h"

struct heap_stack; /* of a thread; it has memory of its own, from its first stack on */

/* Records the stack of the calling function (WIRE_HEAP_STACK), like stack_copy_emit(). Returns -1 if it was not tried:
 * a signal handler has interrupted the thread while it did the same, or there is no memory. */
int heap_stack_emit(struct agent_thread *thread, struct heap_stack **memory, const struct chain_of *of);

/* For a thread that ends. */
void heap_stack_free(struct heap_stack **memory);

#endif
