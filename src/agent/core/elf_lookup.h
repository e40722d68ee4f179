/* Symbols of loaded objects, found without the loader's lock: see elf_lookup.c.
 * libtacho-libraries.so has a copy of its own. */
#ifndef TACHO_AGENT_CORE_ELF_LOOKUP_H
#define TACHO_AGENT_CORE_ELF_LOOKUP_H

#include <stdint.h>

/* Of an object that the loader names, the address of a function that it exports; NULL if it has none of this name. */
struct dl_phdr_info;
struct link_map;
void *library_symbol(const struct dl_phdr_info *object, const char *name);
void *library_symbol_of(const struct link_map *object, const char *name);
/* The objects in the loader's list, as a debugger finds it: without a call of a function that others may have put
 * theirs before. NULL where the program's headers do not lead there. */
const struct link_map *library_objects(void);
uintptr_t library_own_base(void); /* where this library itself was loaded */

#endif
