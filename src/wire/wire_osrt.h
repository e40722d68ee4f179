/* The numbers that records of OS runtime calls carry: the rows of osrt.def, in its order. */
#ifndef TACHO_WIRE_WIRE_OSRT_H
#define TACHO_WIRE_WIRE_OSRT_H

enum osrt_function {
#define OS(type, symbol, shown, parameters, arguments, fails) OSRT_##symbol,
#define OS_OWN(type, symbol, shown, parameters, arguments, fails) OSRT_##symbol,
#include "osrt.def"
#undef OS
#undef OS_OWN
    OSRT_FUNCTION_COUNT
};

#endif
