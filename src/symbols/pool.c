/* Open addressing over an array that grows: see pool.h. Keys are plain bytes, so structs must have no holes in them. */
#include "pool.h"

#include <stdlib.h>
#include <string.h>

#include "../base/hash.h"

#define FIRST_CAPACITY 256u
#define COUNT_MAX (UINT32_C(1) << 30)

void pool_init(struct pool *pool, size_t item_bytes, size_t key_bytes)
{
    *pool = (struct pool){.item_bytes = item_bytes, .key_bytes = key_bytes};
}

void pool_free(struct pool *pool)
{
    free(pool->items);
    free(pool->slots);
    pool_init(pool, pool->item_bytes, pool->key_bytes);
}

/* A stack's node is one word, and the most frequent of all. */
static uint32_t hash(const struct pool *pool, const void *item)
{
    if (pool->key_bytes == sizeof(uint64_t)) {
        uint64_t word;
        memcpy(&word, item, sizeof word);
        return (uint32_t)(hash_number(word) >> 20);
    }
    return (uint32_t)hash_bytes(item, pool->key_bytes);
}

static int grow(struct pool *pool)
{
    uint32_t capacity = pool->capacity ? 2 * pool->capacity : FIRST_CAPACITY;
    if (capacity > COUNT_MAX)
        return -1;
    unsigned char *items = realloc(pool->items, (size_t)capacity * pool->item_bytes);
    if (!items)
        return -1;
    pool->items = items;
    uint32_t *slots = calloc((size_t)capacity * 2, sizeof *slots);
    if (!slots)
        return -1;
    free(pool->slots);
    pool->slots = slots;
    pool->slot_mask = capacity * 2 - 1;
    pool->capacity = capacity;
    for (uint32_t i = 0; i < pool->count; i++) {
        uint32_t at = hash(pool, pool_item(pool, i)) & pool->slot_mask;
        while (slots[at])
            at = (at + 1) & pool->slot_mask;
        slots[at] = i + 1;
    }
    return 0;
}

uint32_t pool_add(struct pool *pool, const void *item)
{
    if (pool->count == pool->capacity && grow(pool) != 0)
        return POOL_FULL;
    uint32_t at = hash(pool, item) & pool->slot_mask;
    for (; pool->slots[at]; at = (at + 1) & pool->slot_mask)
        if (memcmp(pool_item(pool, pool->slots[at] - 1), item, pool->key_bytes) == 0)
            return pool->slots[at] - 1;
    memcpy(pool_item(pool, pool->count), item, pool->item_bytes);
    pool->slots[at] = ++pool->count;
    return pool->count - 1;
}
