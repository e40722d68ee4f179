/* Prints the demangler's tree as CUDA's tools do: see demangle_print.c. */
#ifndef TACHO_SYMBOLS_NAMES_DEMANGLE_PRINT_H
#define TACHO_SYMBOLS_NAMES_DEMANGLE_PRINT_H

#include "base/text.h"

/* Prints a mangled name, at most limit bytes, and returns 1. Returns 0 if it is not a mangled name, or if the style of
 * these tools is not known for a part of it; then out may have a part of the name. */
int symbol_print(const char *mangled, size_t limit, struct text *out);

#endif
