/* Names of functions and kernels in few columns. */
#ifndef TACHO_CMD_PRINT_SHORT_NAME_H
#define TACHO_CMD_PRINT_SHORT_NAME_H

#include <stddef.h>

#include "base/text.h"

/* Adds a name in at most `columns` columns of a terminal, safe as by display_add(), and returns how many it takes. A
 * name that is too long loses, as far as needed: parameters and return type, namespaces, template arguments of
 * template arguments; then it is cut: behind `before` columns, or (0) where it has template arguments at its end, else
 * in its middle. */
size_t short_name_add(struct text *out, const char *bytes, size_t length, size_t columns, size_t before);

#endif
