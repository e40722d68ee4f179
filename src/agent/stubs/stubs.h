/* libtacho-libraries.so: stands before the functions of cuBLAS, cuDNN, cuSOLVER, cuSPARSE and NCCL, and tells the agent
 * when each begins and ends. It is preloaded only when such calls are to be recorded.
 *
 * A stub knows a function's name and nothing of its parameters (stubs.S). What it adds must not be seen by either side:
 * every register and every word of the stack that can hold an argument or a result arrives as it was. */
#ifndef TACHO_AGENT_STUBS_STUBS_H
#define TACHO_AGENT_STUBS_STUBS_H

#include <dlfcn.h>
#include <stdatomic.h>
#include <stdint.h>

#include "agent/core/elf_lookup.h"
#include "agent/libraries/library_agent.h"

/* A row of the .calls files, in their order; stubs.S gives each its number. */
struct library_function {
    const char *name;
    uint8_t library;     /* enum wire_library */
    uint8_t is_small;
    uint8_t stack_words; /* of arguments that its known versions may have on the stack */
};
extern const struct library_function library_functions[];
extern const uint32_t library_function_count;

extern _Atomic(void *) library_real[]; /* by number; NULL: not found yet */

/* The real function, or NULL while no library that is loaded has it. Keeps errno. */
void *library_resolve(uint32_t number);

/* What stubs look at before they save anything: see enter_*.S. */
extern struct library_look {
    _Atomic uint32_t *state;
    struct wire_header **arena;
    uint64_t recording; /* the place of that word in it */
} library_look;

/* One call, on the stack of library_enter(). */
struct library_call {
    struct agent_library_call call;
    uint64_t stack_bytes; /* to be copied for the real function; a multiple of 16 */
    uint32_t is_recorded; /* 0: jump to the real function and be gone */
};
_Static_assert(sizeof(struct library_call) <= 48, "enter_*.S keeps so much room");

/* Called by library_enter(), which has put all arguments away. `arguments`: where those on the stack begin. Returns the
 * real function; for one that no library has, something that fails. */
void *library_begin(uint32_t number, struct library_call *call, const void *arguments);
void library_end(const struct library_call *call);

#define LIBRARY_STUB_BYTES 16
extern char library_stubs[]; /* one after another, by number */

/* dlsym() without our own hook. */
typedef void *library_dlsym_function(void *handle, const char *name);
void *library_dlsym(void *handle, const char *name);
int library_dladdr(const void *address, Dl_info *info);
void library_forget_error(void); /* what dlerror() would say next */

/* For the hook in enter_*.S. */
extern _Atomic(library_dlsym_function *) library_real_dlsym;
library_dlsym_function *library_find_dlsym(void);
void *library_dlsym_handle(void *handle, const char *name);

#endif
