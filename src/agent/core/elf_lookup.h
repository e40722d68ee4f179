/* Symbols of loaded objects, found without the loader's lock: see elf_lookup.c. Every object of stubs
 * contains a copy of this code. */
#ifndef TACHO_AGENT_CORE_ELF_LOOKUP_H
#define TACHO_AGENT_CORE_ELF_LOOKUP_H

#include <stdint.h>

/* The address of a function or variable that an object of the loader exports; NULL if it has none of this name. */
struct dl_phdr_info;
struct link_map;
void *library_symbol(const struct dl_phdr_info *object, const char *name);
void *library_symbol_of(const struct link_map *object, const char *name);
/* Whether the object exports a symbol of this name. Indirect functions count, though only the loader knows their
 * address. */
int library_defines(const struct link_map *object, const char *name);
/* The loader's list of objects, found as a debugger finds it: without a call to a function that others may have
 * interposed. NULL if the program's headers do not lead to it. */
const struct link_map *library_objects(void);
uintptr_t library_own_base(void); /* the address at which this library is loaded */

#endif
