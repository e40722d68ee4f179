/* libtacho-libraries.so: interposes the functions of cuBLAS, cuDNN, cuSOLVER, cuSPARSE and NCCL, and calls the agent
 * when each begins and ends. It is preloaded only when such calls are recorded.
 *
 * A stub knows a function's name and nothing of its parameters (stubs.S). Neither side may notice it: every register
 * and every word of the stack that can hold an argument or a result must arrive unchanged. */
#ifndef TACHO_AGENT_STUBS_STUBS_H
#define TACHO_AGENT_STUBS_STUBS_H

#include <dlfcn.h>
#include <stdatomic.h>
#include <stdint.h>

#include "agent/core/elf_lookup.h"
#include "agent/libraries/library_agent.h"

/* A row of the .calls files, in their order. stubs.S numbers them the same way. */
struct library_function {
    const char *name;
    uint8_t library;     /* enum wire_library */
    uint8_t is_small;
    uint8_t stack_words; /* words of arguments on the stack, in the known versions */
};
extern const struct library_function library_functions[];
extern const uint32_t library_function_count;

extern _Atomic(void *) library_real[]; /* by number; NULL: not found yet */

/* The real function, or NULL while no loaded library has it. Keeps errno. */
void *library_resolve(uint32_t number);

/* Stubs check these words before they save anything: see stub_enter_*.S. */
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
_Static_assert(sizeof(struct library_call) <= 48, "enter_*.S keeps so much room");

/* library_enter() calls this after it has saved all arguments. `arguments` is the address of those on the stack.
 * Returns the real function, or one that fails if no library has it. */
void *library_begin(uint32_t number, struct library_call *call, const void *arguments);
void library_end(const struct library_call *call);

#define LIBRARY_STUB_BYTES 16
extern char library_stubs[]; /* back to back, by number */

/* dlsym() without the hook. */
typedef void *library_dlsym_function(void *handle, const char *name);
void *library_dlsym(void *handle, const char *name);
int library_dladdr(const void *address, Dl_info *info);
void library_forget_error(void); /* clears the error that dlerror() would return next */

/* For the hook in stub_enter_*.S. */
extern _Atomic(library_dlsym_function *) library_real_dlsym;
library_dlsym_function *library_find_dlsym(void);
void *library_dlsym_handle(void *handle, const char *name);

#endif
