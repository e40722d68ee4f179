/* What objdump prints of a span of addresses. */
#ifndef TACHO_CMD_ANNOTATE_ANNOTATE_OBJDUMP_H
#define TACHO_CMD_ANNOTATE_ANNOTATE_OBJDUMP_H

#include <stdint.h>

#include "base/error.h"
#include "base/text.h"

/* Instructions of a program or library with their lines, names demangled. ERR_UNSUPPORTED without objdump, ERR_NO_DATA
 * if it cannot read the file. */
int annotate_objdump(struct text *out, const char *path, uint64_t start, uint64_t end, struct error *err);

#endif
