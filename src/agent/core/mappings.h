/* The table of the agent's own mappings. With it, mlockall() can tell them from the program's memory.
 *
 * Threads add and remove mappings while another walks the table, and signal handlers add some; nobody waits. The walker
 * holds one entry at a time. If the owner gives up a mapping meanwhile, the walker unmaps it, so that its addresses
 * cannot become the program's while the walker still works on them. A mapping for which the table has no room counts as
 * the program's. */
#ifndef TACHO_AGENT_CORE_MAPPINGS_H
#define TACHO_AGENT_CORE_MAPPINGS_H

#include <stddef.h>
#include <stdint.h>

enum mapping_kind { MAPPING_OF_PROCESS, MAPPING_INHERITED }; /* forked children inherit the latter */

void mapping_add(const void *address, size_t bytes, enum mapping_kind kind);
void mapping_remove(void *address, size_t bytes);            /* and unmaps it */
void mappings_after_fork_in_child(void); /* removes the entries of mappings that the child did not inherit */

/* The first mapping that ends after this address: its bounds, whole pages. 0: there is none. */
int mapping_after(uintptr_t address, uintptr_t *first, uintptr_t *end);

void mappings_unlock(void); /* munlocks all of them, after mlockall() locked them with the program's memory */

#endif
