/* Backtraces: a copy of the thread's registers and of the top of its stack, which the collector unwinds. */
#ifndef TACHO_AGENT_CORE_STACK_COPY_H
#define TACHO_AGENT_CORE_STACK_COPY_H

#include "agent.h"

struct chain_of {
    enum wire_source source;
    uint64_t key, ticks; /* as in WIRE_STACK */
    uint32_t bytes;      /* of stack to copy, at most */
    uint32_t use;        /* enum agent_stack_use */
};

/* Indexed by DWARF register number. */
struct chain_registers {
    uint64_t known;
    uint64_t value[WIRE_STACK_REGISTERS];
};

/* Copies the stack from this address upwards, at most WIRE_STACK_BYTES_MAX bytes. The system call stops where nothing
 * is mapped. Returns the number of bytes, or -errno. */
long stack_copy_take(void *to, uint64_t from, size_t bytes);

/* Records the stack of the calling function. Must be called before the record that it belongs to is written. Keeps
 * errno. Where there is no room the stack is dropped, and its record has no backtrace. */
void stack_copy_emit(struct agent_thread *thread, const struct chain_of *of);

/* The same, with registers from elsewhere (of a signal handler). */
void stack_copy_emit_from(struct agent_thread *thread, const struct chain_of *of,
                          const struct chain_registers *registers);

#endif
