/* Prints the demangler's tree as CUDA's tools do: see demangle_print.c. */
#ifndef TACHO_SYMBOLS_NAMES_DEMANGLE_PRINT_H
#define TACHO_SYMBOLS_NAMES_DEMANGLE_PRINT_H

#include "base/text.h"

/* Adds the name of a mangled one, at most limit bytes, and returns 1; or returns 0, where out may have got a part of
 * it: the name is none, or has something in it for which the way of these tools is not known. */
int symbol_print(const char *mangled, size_t limit, struct text *out);

#endif
