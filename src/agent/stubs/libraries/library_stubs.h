/* libtacho-libraries.so: interposes the functions of cuBLAS, cuDNN, cuSOLVER, cuSPARSE and NCCL, and calls the agent
 * when each begins and ends. It is preloaded only when such calls are recorded.
 *
 * A stub knows a function's name and nothing of its parameters (library_stubs.S). */
#ifndef TACHO_AGENT_STUBS_LIBRARIES_LIBRARY_STUBS_H
#define TACHO_AGENT_STUBS_LIBRARIES_LIBRARY_STUBS_H

#include "agent/libraries/libraries_agent.h"
#include "agent/stubs/stubs.h"

/* Stubs check these words before they save anything: see library_enter_*.S. */
extern struct library_look {
    _Atomic uint32_t *state;
    struct wire_header **arena;
    uint64_t recording; /* offset of that word in the arena */
} library_look;

/* One call, on the stack of library_enter(). */
struct library_call {
    struct agent_library_call call;
    uint64_t stack_bytes; /* to copy for the real function; a multiple of 16 */
    uint32_t is_recorded; /* 0: jump to the real function and leave no frame */
};
_Static_assert(sizeof(struct library_call) <= 48, "library_enter_*.S keeps so much room");

/* library_enter() calls this after it has saved all arguments. `arguments` is the address of those on the stack,
 * `caller` the return address. Returns the real function, or one that fails if no library has it. */
void *library_begin(uint32_t number, struct library_call *call, const void *arguments, const void *caller);
void library_end(const struct library_call *call);

#endif
