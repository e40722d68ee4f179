/* The Python frames that the calling thread is in: of operators of PyTorch, and of calls that took long. */
#ifndef TACHO_AGENT_PYTHON_PYTHON_AGENT_H
#define TACHO_AGENT_PYTHON_PYTHON_AGENT_H

#include "agent/core/agent.h"
#include "wire/wire_python.h"

/* 0 if they can be read here, -1 if not, or not yet. Looks for Python: not for hooks. */
int python_prepare(void);

/* The number of the calling thread's stack, which the collector has been told of as WIRE_TORCH_STACK; 0: it has none.
 * Inside an operator, whose thread has its frames as they are. */
uint64_t python_stack_of_operator(struct agent_thread *thread);

#endif
