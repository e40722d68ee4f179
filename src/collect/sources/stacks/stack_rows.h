/* Call stacks of a capture: those of long calls, copied by the agent, and those of samples.
 *
 * While the program runs, a stack is only a number (src/symbols). When it has ended, all addresses are resolved at
 * once, and the stacks that events refer to become rows of the sources' tables of call chains and of
 * SAMPLING_CALLCHAINS. */
#ifndef TACHO_COLLECT_SOURCES_STACKS_STACK_ROWS_H
#define TACHO_COLLECT_SOURCES_STACKS_STACK_ROWS_H

#include <stdint.h>

#include "symbols/symbols.h"

struct collector;

/* The symbol engine, with the address spaces of all processes; NULL: out of memory. */
struct symbols *stacks_symbols(struct collector *collector);

/* Notes that a row of COMPOSITE_EVENTS has this stack. */
void stacks_sample(struct collector *collector, int64_t sample_id, uint32_t stack);

#endif
