/* Symbols of loaded objects, found without the loader's lock: see symbols.c. libtacho-libraries.so has a copy of its own. */
#ifndef TACHO_AGENT_SYMBOLS_H
#define TACHO_AGENT_SYMBOLS_H

#include <stdint.h>

/* Of an object that the loader names, the address of a function that it exports; NULL if it has none of this name. */
struct dl_phdr_info;
void *library_symbol(const struct dl_phdr_info *object, const char *name);
uintptr_t library_own_base(void); /* where this library itself was loaded */

#endif
