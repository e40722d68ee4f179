/* Python stacks of calls and samples, from agents: rows of TACHO_PYTHON_CALLCHAINS.
 *
 * An agent numbers stacks itself, and sends the text of a number before it uses the number. Equal texts share their
 * rows, whichever agent sent them. */
#ifndef TACHO_COLLECT_SOURCES_PYTHON_PYTHON_CALLS_H
#define TACHO_COLLECT_SOURCES_PYTHON_PYTHON_CALLS_H

#include "wire/wire.h"

struct collector;
struct process;

/* A frame of a stack, as a row of TACHO_PYTHON_CALLCHAINS. */
struct python_chain_row {
    int64_t id, symbol, module; /* of the stack; ids in the writer's string pool */
    int64_t line;               /* 0: none */
    uint32_t depth;
    int is_entry;               /* called by C code */
};
void python_write_chain_row(struct collector *collector, const struct python_chain_row *row);

/* The id of a new stack. */
int64_t python_next_chain(struct collector *collector);

/* Handles a WIRE_PYTHON_STACK: 0, or -1 if it is invalid or out of memory. */
int python_calls_record(struct process *process, const struct wire_record *record, uint32_t words);

/* The id of the rows of a number; 0: its text was not received. */
int64_t python_calls_find(const struct process *process, uint64_t number);

#endif
