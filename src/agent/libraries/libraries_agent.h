/* What libtacho-libraries.so calls in the agent to record a call into a library. Both come from the same build. */
#ifndef TACHO_AGENT_LIBRARIES_LIBRARIES_AGENT_H
#define TACHO_AGENT_LIBRARIES_LIBRARIES_AGENT_H

#include <stdatomic.h>
#include <stdint.h>

struct wire_header;

/* A call in progress, on the stack of its stub. */
struct agent_library_call {
    uint32_t library;          /* enum wire_library */
    uint32_t is_small;         /* recorded only if the library is selected with -verbose */
    const char *name;
    _Atomic uint32_t *name_id; /* id of the function's name; 0 until the agent assigns one */
    uintptr_t frame;           /* address of the stub's frame; a multiple of 16 */
};

struct agent_library_calls {
    uint32_t size;
    /* For the stubs to check first: recording needs *state == AGENT_ATTACHED, then a bit of (*arena)->recording. */
    _Atomic uint32_t *state;
    struct wire_header **arena;
    /* Returns whether the call is recorded: then end() must follow. Keeps errno. */
    int (*begin)(const struct agent_library_call *call);
    void (*end)(const struct agent_library_call *call);
};

/* NULL when this process is not recorded. */
const struct agent_library_calls *tacho_agent_library_calls(void);

#endif
