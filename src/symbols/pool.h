/* Things that are kept once and known by small numbers: stacks (a tree), frames, and ways to walk through a frame. */
#ifndef TACHO_SYMBOLS_POOL_H
#define TACHO_SYMBOLS_POOL_H

#include "symbols.h"

/* An array of things that are equal if their first bytes are; numbers count from 0. */
struct pool {
    unsigned char *items;
    size_t item_bytes, key_bytes;
    uint32_t count, capacity;
    uint32_t *slots;  /* number + 1, or 0 */
    uint32_t slot_mask;
};

#define POOL_FULL UINT32_MAX

void pool_init(struct pool *pool, size_t item_bytes, size_t key_bytes);
void pool_free(struct pool *pool);

/* The number of an item whose key is equal to this one's; a copy of it is added if there is none. POOL_FULL when memory is short. */
uint32_t pool_add(struct pool *pool, const void *item);

static inline void *pool_item(const struct pool *pool, uint32_t number)
{
    return pool->items + (size_t)number * pool->item_bytes;
}

#endif
