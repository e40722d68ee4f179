/* The Python frames of the calling thread, for PyTorch operators, for backtraces of calls and for samples. */
#ifndef TACHO_AGENT_PYTHON_PYTHON_AGENT_H
#define TACHO_AGENT_PYTHON_PYTHON_AGENT_H

#include "agent/core/agent.h"
#include "wire/wire_python.h"

/* 0 if Python frames can be read here, -1 if not, or not yet. Searches for Python, so hooks must not call it. */
int python_prepare(void);

/* Records the Python stack of the calling thread as WIRE_TORCH_STACK and returns its number; 0: it has none. Only
 * inside an operator, where the frames are certainly mapped. */
uint64_t python_stack_of_operator(struct agent_thread *thread);

#endif
