/* Call stacks of a capture: those of long calls, copied by the agent, and those of samples.
 *
 * A stack that was unwound is only a number (src/symbols). Every few seconds, and when the program has ended, the
 * addresses that are new are resolved, and the stacks that events refer to become rows of the sources' tables of call
 * chains and of SAMPLING_CALLCHAINS. */
#ifndef TACHO_COLLECT_SOURCES_STACKS_STACK_ROWS_H
#define TACHO_COLLECT_SOURCES_STACKS_STACK_ROWS_H

#include <stdint.h>

#include "collect/core/collect_source.h"
#include "symbols/symbols.h"
#include "wire/wire.h"

struct collector;
struct process;

/* The symbol engine, with the address spaces of all processes; NULL: out of memory. */
struct symbols *stacks_symbols(struct collector *collector);

/* Notes that a row of COMPOSITE_EVENTS has this stack. */
void stacks_sample(struct collector *collector, int64_t sample_id, uint32_t stack);

/* The chains of a WIRE_STACK record. */
struct call_chains stacks_unwind(const struct collect_origin *origin, const struct wire_record *record, uint32_t words);

/* A chain of this source whose only frame is the variable at an address: its id, or 0 if the address lies in no module
 * that the process has loaded (a variable on the heap or on a stack). */
int64_t stacks_variable(struct process *process, enum wire_source source, uint64_t address);

/* A chain of this source whose only frame is the call that returns to this address: its id, or 0. */
int64_t stacks_return_address(struct process *process, enum wire_source source, uint64_t address);

#endif
