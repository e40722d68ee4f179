/* Python frames, which the agent reads beside the stacks of calls and beside its samples. */
#ifndef TACHO_WIRE_WIRE_PYTHON_H
#define TACHO_WIRE_WIRE_PYTHON_H

#include "wire.h"

enum wire_python_type {
    /* body: [number] text, Python frames as "line, tab, file, tab, function" with line feeds between, the innermost
     * first; a * before the line: C code called it, and its caller runs in another run of the interpreter's loop */
    WIRE_PYTHON_STACK = WIRE_FIRST_PYTHON,
};
WIRE_TYPES_END_AT(PYTHON, WIRE_PYTHON_STACK);

/* The Python frames of a thread are read… */
enum wire_python_flag {
    WIRE_PYTHON_CALLS = 1,   /* …beside the stacks of its calls */
    WIRE_PYTHON_SAMPLES = 2, /* …beside its samples */
};

struct wire_python_shared {
    _Alignas(64) uint32_t flags; /* enum wire_python_flag */
};
WIRE_SHARED(PYTHON, struct wire_python_shared, wire_python)

#endif
