/* Demangles names of C++ and Rust functions.
 *
 * The names come from files that anyone may have made. These functions never crash, use a bounded amount of memory,
 * and return something for every name. */
#ifndef TACHO_SYMBOLS_NAMES_DEMANGLE_H
#define TACHO_SYMBOLS_NAMES_DEMANGLE_H

#include "base/text.h"

/* Longer names stay mangled, and so do those that would become longer than this. */
#define SYMBOL_LONGEST_MANGLED (32u << 10)
#define SYMBOL_LONGEST_DEMANGLED (256u << 10)

/* Adds the demangled name and returns 1; if it is not a name of C++ or Rust, adds it as it is and returns 0. */
int symbol_demangle(const char *mangled, struct text *out);

/* The same for a CUDA kernel, in the style of CUDA's tools and so of nsys: void f<float, (int)3>(const T1 *). If a
 * part has no known form in that style, the whole name is in the usual style. */
int symbol_demangle_kernel(const char *mangled, struct text *out);

/* Adds the bare name of a demangled function, without return type, scope, template arguments or parameters; this is
 * nsys's shortName. A name of another language stays as it is. */
void symbol_short(const char *demangled, struct text *out);

#endif
