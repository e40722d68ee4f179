/* The numbers of the libraries in libraries.def, as in records and as bits of struct wire_library_shared. */
#ifndef TACHO_WIRE_WIRE_LIBRARIES_H
#define TACHO_WIRE_WIRE_LIBRARIES_H

#include "wire.h"

enum wire_library {
#define LIBRARY(id, ...) WIRE_LIBRARY_##id,
#include "libraries.def"
#undef LIBRARY
    WIRE_LIBRARY_COUNT
};
_Static_assert(WIRE_LIBRARY_COUNT <= 16, "a bit for each, and one for its verbose half");

#define WIRE_LIBRARIES_FILE "libtacho-libraries.so" /* the object with the stubs; it lies beside the agent */
#define WIRE_LIBRARY_BIT(library) (1u << (library))
#define WIRE_LIBRARY_VERBOSE(library) (0x10000u << (library))

struct wire_library_shared {
    _Alignas(64) uint32_t wanted; /* WIRE_LIBRARY_BIT()s and WIRE_LIBRARY_VERBOSE()s */
};
WIRE_SHARED(LIBRARIES, struct wire_library_shared, wire_library)

#endif
