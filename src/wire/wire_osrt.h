/* The record of an OS call, and the numbers of the hooked functions: the rows of libc_calls.def in order. */
#ifndef TACHO_WIRE_WIRE_OSRT_H
#define TACHO_WIRE_WIRE_OSRT_H

#include "wire.h"

enum wire_osrt_type {
    /* a: function, a row of libc_calls.def; b: nesting level; body: [duration in ticks << 16 | errno if the call
     * failed, else 0][return value; of a lock call that waited: tid of the holder << 32 | low half of the value], and
     * of a lock call that waited: [address of the lock] */
    WIRE_OSRT_CALL = WIRE_FIRST_OSRT,
};
WIRE_TYPES_END_AT(OSRT, WIRE_OSRT_CALL); /* the key of a WIRE_STACK is unused */

enum osrt_function {
#define OS(type, symbol, shown, parameters, arguments, fails) OSRT_##symbol,
#define OS_OWN(type, symbol, shown, parameters, arguments, fails) OSRT_##symbol,
#include "libc_calls.def"
#undef OS
#undef OS_OWN
    OSRT_FUNCTION_COUNT
};

struct wire_osrt_shared {
    _Alignas(64) _Atomic uint64_t threshold_ticks; /* shorter calls are only counted; --cost-limit raises it */
    uint64_t backtrace_ticks;                      /* calls that take at least this long get a backtrace */
    uint32_t backtrace_bytes;                      /* bytes of stack to copy for it; 0: no backtraces */
};
WIRE_SHARED(OSRT, struct wire_osrt_shared, wire_osrt)

#endif
