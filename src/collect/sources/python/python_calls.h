/* Python stacks of calls and samples, as agents tell of them: rows of TACHO_PYTHON_CALLCHAINS.
 *
 * An agent numbers stacks as it likes and tells the text of a number before it uses it. Equal texts have the
 * same rows, whoever told them. */
#ifndef TACHO_COLLECT_SOURCES_PYTHON_PYTHON_CALLS_H
#define TACHO_COLLECT_SOURCES_PYTHON_PYTHON_CALLS_H

#include "wire/wire.h"

struct collector;
struct process;

/* A frame of a stack, as a row of TACHO_PYTHON_CALLCHAINS. */
struct python_chain_row {
    int64_t id, symbol, module; /* of the stack; in the writer's string pool */
    int64_t line;               /* 0: none */
    uint32_t depth;
    int is_entry;               /* C code called it */
};
void python_write_chain_row(struct collector *collector, const struct python_chain_row *row);

/* The id of a new stack. */
int64_t python_next_chain(struct collector *collector);

/* A WIRE_PYTHON_STACK of `words` words: 0, or -1 if it makes no sense or memory is short. */
int python_calls_record(struct process *process, const struct wire_record *record, uint32_t words);

/* The id of the rows of a number; 0: it was not told. */
int64_t python_calls_find(const struct process *process, uint64_t number);

#endif
