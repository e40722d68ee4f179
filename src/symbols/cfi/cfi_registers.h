/* Values of registers, and the methods of unwinding. */
#ifndef TACHO_SYMBOLS_CFI_CFI_REGISTERS_H
#define TACHO_SYMBOLS_CFI_CFI_REGISTERS_H

#include <stdint.h>

/* By DWARF's numbers. x86_64: 0 to 15, and 16 for rip. aarch64: x0 to x30, 31 for sp, 32 for pc. */
#define SYMBOLS_REGISTERS 33
struct symbols_registers {
    uint64_t known; /* a bit for each register that has a value */
    uint64_t value[SYMBOLS_REGISTERS];
};

/* How a frame was unwound; the numbers of nsys's ENUM_STACK_UNWIND_METHOD. */
enum symbols_method {
    SYMBOLS_BY_UNKNOWN = 0,
    SYMBOLS_BY_FRAME_POINTER = 1,
    SYMBOLS_BY_KERNEL = 5,
    SYMBOLS_BY_EH_FRAME = 6,
    SYMBOLS_BY_DEBUG_FRAME = 7,
    SYMBOLS_BY_LBR = 8,
};

#endif
