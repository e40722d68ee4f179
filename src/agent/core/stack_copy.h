/* Who called: a copy of the thread's registers and of the top of its stack, which the collector walks. */
#ifndef TACHO_AGENT_CORE_STACK_COPY_H
#define TACHO_AGENT_CORE_STACK_COPY_H

#include "agent.h"

struct chain_of {
    enum wire_source source;
    uint64_t key, ticks; /* as WIRE_STACK has them */
    uint32_t bytes;      /* of stack at most */
};

/* By DWARF's numbers. */
struct chain_registers {
    uint64_t known;
    uint64_t value[WIRE_STACK_REGISTERS];
};

/* Copies a stack from here upwards, by a system call that stops where nothing is mapped: how many bytes, or -errno. Not
 * more than WIRE_STACK_BYTES_MAX. */
long stack_copy_take(void *to, uint64_t from, size_t bytes);

/* Of the calling function; to be called before the record that it belongs to is written. Keeps errno. A record that
 * finds no room is left out: what it belongs to is recorded without it. */
void stack_copy_emit(struct agent_thread *thread, const struct chain_of *of);

/* The same from registers that were had elsewhere (a signal's). */
void stack_copy_emit_from(struct agent_thread *thread, const struct chain_of *of,
                          const struct chain_registers *registers);

#endif
