/* Names of functions and kernels in few columns. */
#ifndef TACHO_CMD_PRINT_SHORT_NAME_H
#define TACHO_CMD_PRINT_SHORT_NAME_H

#include <stddef.h>

#include "analyze/engine/table.h"
#include "base/text.h"

/* Adds a name in at most `columns` columns of a terminal (0: whole), safe as by display_add(), and returns how many it
 * takes. Mangled names are demangled, and calls of CUDA lose the version of their interface. A name that is too long
 * loses, as far as needed: parameters and return type, namespaces, template arguments of template arguments and of the
 * class; then it is cut: at its end where that has template arguments, else in its middle. The line of the source after
 * a name, " (queue.c:32)", stays, unless both are too long. */
size_t short_name_add(struct text *out, const char *bytes, size_t length, size_t columns);

/* Where to cut names that look equal otherwise: the start of the name, an ellipsis, and the part that differs. */
struct short_name_cut {
    int is_cut;
    size_t steps, from; /* the steps of shortening that leave a difference, and its place after them */
};
/* Finds out where two cells with text differ; 0 if people read the same in both. */
int short_name_differ(const struct table_cell *a, const struct table_cell *b, struct short_name_cut *out);
size_t short_name_add_cut(struct text *out, const char *bytes, size_t length, size_t columns,
                          const struct short_name_cut *cut);

/* Adds a text with the calls of CUDA as people know them: cudaMemcpy, not cudaMemcpy_v3020. */
void short_name_drop_versions(struct text *out, const char *bytes, size_t length);

#endif
