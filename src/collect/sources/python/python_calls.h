/* Python stacks of calls and samples, as agents tell of them: rows of TACHO_PYTHON_CALLCHAINS.
 *
 * An agent numbers stacks as it likes and tells the text of a number before it uses it. Equal texts have the
 * same rows, whoever told them. */
#ifndef TACHO_COLLECT_SOURCES_PYTHON_PYTHON_CALLS_H
#define TACHO_COLLECT_SOURCES_PYTHON_PYTHON_CALLS_H

#include "base/intern.h"
#include "wire/wire.h"

struct collector;
struct process;

/* Of a capture; {0} at first. */
struct python_calls {
    struct intern texts; /* as records have them */
    int64_t *ids;        /* by text */
    size_t room;
};

/* A WIRE_PYTHON_STACK of `words` words: 0, or -1 if it makes no sense or memory is short. */
int python_calls_record(struct process *process, const struct wire_record *record, uint32_t words);

/* The id of the rows of a number; 0: it was not told. */
int64_t python_calls_find(const struct process *process, uint64_t number);

void python_calls_process_ends(struct process *process);
void python_calls_free(struct collector *collector);

#endif
