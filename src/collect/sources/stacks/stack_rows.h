/* Stacks of the capture: those of calls that took long, copied by the agent, and those of samples.
 *
 * While the program runs a stack is a number (src/symbols). When it has ended all addresses get their names at once,
 * and the stacks that events refer to become rows of OSRT_CALLCHAINS, CUDA_CALLCHAINS and SAMPLING_CALLCHAINS. */
#ifndef TACHO_COLLECT_SOURCES_STACKS_STACK_ROWS_H
#define TACHO_COLLECT_SOURCES_STACKS_STACK_ROWS_H

#include <stdint.h>

#include "symbols/symbols.h"
#include "wire/wire.h"

struct collector;
struct process;

enum stacks_use { STACKS_OSRT = 1, STACKS_CUDA = 2 };

void stacks_start(struct collector *collector);
void stacks_stop(struct collector *collector);

/* The address spaces of all processes are in here; NULL: memory was short. */
struct symbols *stacks_symbols(struct collector *collector);

/* A process is recorded from now on, and has ended. And what its loader has told of. */
void stacks_process_begins(struct process *process);
void stacks_process_ends(struct process *process);
void stacks_module(struct process *process, const struct symbols_mapping *mapping);
void stacks_module_ends(struct process *process, uint64_t address, uint64_t bytes);

/* The stack in a WIRE_STACK record of `words` words: its number, which is also the id of its
 * rows, or 0 if there is none. */
uint32_t stacks_record(struct process *process, const struct wire_record *record, uint32_t words, enum stacks_use use);

/* A row of COMPOSITE_EVENTS has this stack. */
void stacks_sample(struct collector *collector, int64_t sample_id, uint32_t stack);

/* Finds all names and writes all rows; once, after the last event. */
void stacks_write(struct collector *collector);

#endif
