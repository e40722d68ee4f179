/* Demangles names of C++ and Rust functions.
 *
 * The names come from files that anyone may have made. These functions never crash, use a bounded amount of memory,
 * and return something for every name. */
#ifndef TACHO_SYMBOLS_NAMES_DEMANGLE_H
#define TACHO_SYMBOLS_NAMES_DEMANGLE_H

#include "base/text.h"

/* Longer names stay as they are, and so do those that would become longer than this. */
#define SYMBOL_LONGEST_MANGLED (32u << 10)
#define SYMBOL_LONGEST_DEMANGLED (256u << 10)

/* Adds the demangled name, or the name itself where it is none that C++ or Rust make; says whether it was one. */
int symbol_demangle(const char *mangled, struct text *out);

/* The same for a CUDA kernel, in the way of CUDA's tools and so of nsys: void f<float, (int)3>(const T1 *). Where that
 * way is not known it is the common one. */
int symbol_demangle_kernel(const char *mangled, struct text *out);

/* Adds the bare name of a demangled function: no return type, scope, template arguments or parameters. It is what nsys
 * calls shortName. A name of another language stays as it is. */
void symbol_short(const char *demangled, struct text *out);

#endif
