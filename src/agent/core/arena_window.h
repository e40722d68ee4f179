/* The arena as the agent sees it: one window at a time. So the program's address space, its locked memory and its core
 * dumps grow with what was recorded, not with the size of the buffer.
 *
 * An area is a row of units of one size (chunks, slots, buffers of a source), used from the first one on. Its windows
 * are mapped in that order and never unmapped, so pointers into them stay valid. The agent keeps no descriptor: window
 * k is made from window k - 1 (mremap() with an old size of 0 maps the same file once more, and may go beyond the first
 * mapping). Threads that need the same window at the same time all map it; the first one publishes its mapping, the
 * others unmap theirs. Nothing here waits, so all of it may run in signal handlers. */
#ifndef TACHO_AGENT_CORE_ARENA_WINDOW_H
#define TACHO_AGENT_CORE_ARENA_WINDOW_H

#include "arena_area.h"

/* Maps a part of the arena, or private memory for a descriptor of -1. Children do not inherit it, core dumps do not
 * contain it, and it is not locked. NULL when there is no room. */
void *window_map(int descriptor, uint64_t offset, size_t bytes);

/* Maps private memory that children inherit. It is not locked either. NULL when there is no room. */
void *window_map_inherited(size_t bytes);

/* Maps `bytes` of the arena once more, from where `mapping` begins. The old mapping stays. */
void *window_map_longer(char *mapping, size_t bytes);

/* Unmaps the result of any of these. */
void window_unmap(void *memory, size_t bytes);

/* Sets up an area that has no window yet. */
void area_set(struct area *area, uint32_t unit_bytes, uint32_t count, uint32_t per_window, size_t link);

/* Maps one more window: 0, or -1 when all are mapped or the address space is full. */
int area_grow(struct area *area);

/* Takes a unit off a free list (wire/wire_chunks.h), or else one that was never used: its index, or WIRE_NONE. */
uint32_t area_take(struct area *area, _Atomic uint64_t *list, _Atomic uint32_t *taken);

/* The smallest number of units in a window: `least`, or more where the area would have too many windows. */
static inline uint32_t area_per_window(uint32_t count, uint32_t least)
{
    uint32_t units = (count + AREA_WINDOWS - 1) / AREA_WINDOWS;
    return units > least ? units : least;
}

/* The unit with this index. Its window must be mapped. */
static inline void *area_unit(struct area *area, uint32_t index)
{
    char *window = atomic_load_explicit(&area->windows[index / area->per_window], memory_order_acquire);
    return window + (size_t)(index % area->per_window) * area->unit_bytes;
}

#endif
