/* The record of Python frames, which the agent reads for the backtraces of calls and for its samples. */
#ifndef TACHO_WIRE_WIRE_PYTHON_H
#define TACHO_WIRE_WIRE_PYTHON_H

#include "wire.h"

enum wire_python_type {
    /* body: [number] text, Python frames as "line, tab, file, tab, function", separated by line feeds, innermost first.
     * A * before the line marks a frame that C code called: its caller runs in another invocation of the interpreter's
     * loop. */
    WIRE_PYTHON_STACK = WIRE_FIRST_PYTHON,
};
WIRE_TYPES_END_AT(PYTHON, WIRE_PYTHON_STACK);

/* Where the agent reads the Python frames of the thread. */
enum wire_python_flag {
    WIRE_PYTHON_CALLS = 1,   /* for the backtraces of calls */
    WIRE_PYTHON_SAMPLES = 2, /* for samples */
    WIRE_PYTHON_BLOCKS = 8,  /* for the backtraces of allocations */
    WIRE_PYTHON_SILENT = 4,  /* the user did not ask for it: no note where it cannot be done */
};

struct wire_python_shared {
    _Alignas(64) uint32_t flags; /* enum wire_python_flag */
};
WIRE_SHARED(PYTHON, struct wire_python_shared, wire_python)

#endif
