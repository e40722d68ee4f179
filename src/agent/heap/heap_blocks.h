/* The recorded blocks that the program has not freed, by address. Nothing here waits, so signal handlers and all
 * threads may call it at once; the caller sees to it that no two work on the same address, as malloc() and free() do.
 */
#ifndef TACHO_AGENT_HEAP_HEAP_BLOCKS_H
#define TACHO_AGENT_HEAP_HEAP_BLOCKS_H

#include <stddef.h>
#include <stdint.h>

/* Makes room for the first blocks: 0, or -1 when there is no memory. Children of fork() do not inherit them. */
int heap_blocks_prepare(void);
void heap_blocks_forget(void); /* in a child that has not inherited them */

/* number: not 0. Returns -1 when there is no memory for more. */
int heap_blocks_add(uintptr_t address, uint64_t number);
uint64_t heap_blocks_take(uintptr_t address); /* the number; 0: the block is not there */

#endif
