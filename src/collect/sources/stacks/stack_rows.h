/* Stacks of the capture: those of calls that took long, copied by the agent, and those of samples.
 *
 * While the program runs a stack is a number (src/symbols). When it has ended all addresses get their names at once,
 * and the stacks that events refer to become rows of OSRT_CALLCHAINS, CUDA_CALLCHAINS and SAMPLING_CALLCHAINS. */
#ifndef TACHO_COLLECT_SOURCES_STACKS_STACK_ROWS_H
#define TACHO_COLLECT_SOURCES_STACKS_STACK_ROWS_H

#include <stdint.h>

#include "symbols/symbols.h"

struct collector;

/* The address spaces of all processes are in here; NULL: memory was short. */
struct symbols *stacks_symbols(struct collector *collector);

/* A row of COMPOSITE_EVENTS has this stack. */
void stacks_sample(struct collector *collector, int64_t sample_id, uint32_t stack);

#endif
