/* What the agent has mapped for itself: a table of all of it, so that mlockall() can tell it from the program's memory.
 *
 * Threads add and remove mappings while another goes through the table, and signal handlers add some: no one waits. Who
 * goes through holds one entry at a time; a mapping that its owner gives up meanwhile is unmapped by the holder, so
 * that its addresses cannot become the program's while the holder still works on them. A mapping for which the table
 * has no room counts as the program's. */
#ifndef TACHO_AGENT_CORE_MAPPINGS_H
#define TACHO_AGENT_CORE_MAPPINGS_H

#include <stddef.h>
#include <stdint.h>

enum mapping_kind { MAPPING_OF_PROCESS, MAPPING_INHERITED }; /* by forked children */

void mapping_add(const void *address, size_t bytes, enum mapping_kind kind);
void mapping_remove(void *address, size_t bytes);            /* and unmap */
void mappings_after_fork_in_child(void);                     /* those of the parent alone are not there */

/* The first of them that ends behind this address: its bounds, whole pages; 0: there is none. */
int mapping_after(uintptr_t address, uintptr_t *first, uintptr_t *end);

void mappings_unlock(void); /* all of them: mlockall() has locked them with the program's memory */

#endif
