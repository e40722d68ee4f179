/* The name of a kernel without scope, template arguments and parameters, which is what ncu's filters compare. */
#ifndef TACHO_AGENT_COUNTERS_KERNEL_NAME_H
#define TACHO_AGENT_COUNTERS_KERNEL_NAME_H

#include <stddef.h>

/* Returns the place of the name in the symbol, and its length. A symbol that is no mangled name of C++, or one that
 * this reader does not understand, is a name as a whole. */
const char *kernel_function_name(const char *symbol, size_t *length);

#endif
