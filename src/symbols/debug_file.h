/* The file that holds a module's debug information: itself, or one beside it that its
 * build-id or its debug link names. */
#ifndef TACHO_SYMBOLS_DEBUG_FILE_H
#define TACHO_SYMBOLS_DEBUG_FILE_H

#include "symbols_state.h"

/* Opens it where it is another file: 0, or -1 if there is none. Only what belongs to the very same build is taken. */
int debug_file_open(const struct symbols *symbols, const struct symbols_module *module, struct elf_image *image);

#endif
