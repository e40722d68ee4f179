/* Python sampling: the stacks of all Python threads of the program, read from outside so many times a second.
 *
 * A thread of the collector reads (python_sampler.c), the main thread writes rows. The program is never stopped, knows
 * nothing of it, and its GIL is not touched. */
#ifndef TACHO_COLLECT_SOURCES_PYTHON_PYTHON_COLLECT_H
#define TACHO_COLLECT_SOURCES_PYTHON_PYTHON_COLLECT_H

#include <stdint.h>

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

/* Starts the sampler, if the options ask for it; a warning says so if that fails. */
void python_start(struct collector *collector);

/* Recording goes on and off. */
void python_switch(struct collector *collector, int on);

/* A process of the program was found, or began another program; and the other way. */
void python_process_begins(struct process *process);
void python_process_ends(struct process *process);

/* Writes rows of what was sampled since the last time. */
void python_write(struct collector *collector);

/* No more samples. All that was to be written has been written, and the losses of the disk are known. */
void python_stop(struct collector *collector);

#endif
