/* What libtacho-libraries.so finds in the agent: how a call into a library is recorded. Both are of the same build. */
#ifndef TACHO_AGENT_LIBRARIES_LIBRARY_AGENT_H
#define TACHO_AGENT_LIBRARIES_LIBRARY_AGENT_H

#include <stdatomic.h>
#include <stdint.h>

struct wire_header;

/* A call that is going on: on the stack of its stub. */
struct agent_library_call {
    uint32_t library;          /* enum wire_library */
    uint32_t is_small;         /* recorded only where the library is asked for with -verbose */
    const char *name;
    _Atomic uint32_t *name_id; /* of this function; 0 until the agent gives it a number */
    uintptr_t frame;           /* where the stub's frame is; a multiple of 16 */
};

struct agent_library_calls {
    uint32_t size;
    /* Recording needs *state == AGENT_ATTACHED, then a bit of (*arena)->recording: for the stubs to look at. */
    _Atomic uint32_t *state;
    struct wire_header **arena;
    /* whether it is recorded: then end() must follow. Keeps errno. */
    int (*begin)(const struct agent_library_call *call);
    void (*end)(const struct agent_library_call *call);
};

/* NULL when this process is not being recorded. */
const struct agent_library_calls *tacho_agent_library_calls(void);

#endif
