/* The record of a call into OpenSHMEM, and the numbers of the functions: the rows of oshmem_calls.def in order. */
#ifndef TACHO_WIRE_WIRE_OSHMEM_H
#define TACHO_WIRE_WIRE_OSHMEM_H

#include "wire.h"

#define WIRE_OSHMEM_FILE "libtacho-oshmem.so" /* beside the agent */

enum wire_oshmem_type {
    /* A call that has ended; the time is its start. a: enum oshmem_function, flags: enum wire_oshmem_flag; body: [ticks
     * at its end]; with a flag also [bytes][PE] */
    WIRE_OSHMEM_CALL = WIRE_FIRST_OSHMEM,
};
WIRE_TYPES_END_AT(OSHMEM, WIRE_OSHMEM_CALL);

enum wire_oshmem_flag {
    WIRE_OSHMEM_HAS_BYTES = 1,
    WIRE_OSHMEM_HAS_PE = 2,
};

enum oshmem_function {
#define OSHMEM(name, ...) OSHMEM_FUNCTION_##name,
#include "oshmem_calls.def"
#undef OSHMEM
    OSHMEM_FUNCTION_COUNT
};
_Static_assert(OSHMEM_FUNCTION_COUNT < 65536, "a stub holds its number in 16 bits, and so does a record");

#endif
