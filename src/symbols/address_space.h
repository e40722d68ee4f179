/* The address space of a process: its executable mappings, sorted by address. */
#ifndef TACHO_SYMBOLS_ADDRESS_SPACE_H
#define TACHO_SYMBOLS_ADDRESS_SPACE_H

#include <stdint.h>

struct address_space_mapping;
struct symbols_process;

/* Returns the mapping that holds an address, after a look at /proc if none is known; NULL if there is none. */
const struct address_space_mapping *address_space_find(struct symbols_process *process, uint64_t address);

#endif
