/* The file with a module's debug information: the module itself, or another file that its build-id or its debug link
 * names. */
#ifndef TACHO_SYMBOLS_DEBUG_FILE_H
#define TACHO_SYMBOLS_DEBUG_FILE_H

#include "module.h"

/* Opens that file if it is another one than the module's. Returns 0, or -1 if there is none. A file of another build is
 * not taken. */
int debug_file_open(const struct symbols_settings *settings, const struct symbols_module *module,
                    struct elf_image *image);

#endif
