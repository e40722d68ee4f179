/* Open addressing over an array that grows: see item_table.h. Keys are plain bytes, so structs
 * must have no holes in them. */
#include "item_table.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"

#define FIRST_CAPACITY 256u
#define COUNT_MAX (UINT32_C(1) << 30)

void item_table_init(struct item_table *kept, size_t item_bytes, size_t key_bytes)
{
    *kept = (struct item_table){ .item_bytes = item_bytes, .key_bytes = key_bytes };
}

void item_table_free(struct item_table *kept)
{
    free(kept->items);
    free(kept->slots);
    item_table_init(kept, kept->item_bytes, kept->key_bytes);
}

static uint64_t word_of(const void *item)
{
    uint64_t word;
    memcpy(&word, item, sizeof word);
    return word;
}

/* A stack's node is one word, and the most frequent of all. */
static uint32_t hash(const struct item_table *kept, const void *item)
{
    return kept->key_bytes == sizeof(uint64_t) ? (uint32_t)(hash_number(word_of(item)) >> 20)
                                               : (uint32_t)hash_bytes(item, kept->key_bytes);
}

static int is_equal(const struct item_table *kept, const void *a, const void *b)
{
    return kept->key_bytes == sizeof(uint64_t) ? word_of(a) == word_of(b) : memcmp(a, b, kept->key_bytes) == 0;
}

static int grow(struct item_table *kept)
{
    uint32_t capacity = kept->capacity ? 2 * kept->capacity : FIRST_CAPACITY;
    if (capacity > COUNT_MAX)
        return -1;
    unsigned char *items = realloc(kept->items, (size_t)capacity * kept->item_bytes);
    if (!items)
        return -1;
    kept->items = items;
    uint32_t *slots = calloc((size_t)capacity * 2, sizeof *slots);
    if (!slots)
        return -1;
    free(kept->slots);
    kept->slots = slots;
    kept->slot_mask = capacity * 2 - 1;
    kept->capacity = capacity;
    for (uint32_t i = 0; i < kept->count; i++) {
        uint32_t at = hash(kept, item_table_item(kept, i)) & kept->slot_mask;
        while (slots[at])
            at = (at + 1) & kept->slot_mask;
        slots[at] = i + 1;
    }
    return 0;
}

uint32_t item_table_add(struct item_table *kept, const void *item)
{
    if (kept->count == kept->capacity && grow(kept) != 0)
        return ITEM_TABLE_FULL;
    uint32_t at = hash(kept, item) & kept->slot_mask;
    for (; kept->slots[at]; at = (at + 1) & kept->slot_mask)
        if (is_equal(kept, item_table_item(kept, kept->slots[at] - 1), item))
            return kept->slots[at] - 1;
    memcpy(item_table_item(kept, kept->count), item, kept->item_bytes);
    kept->slots[at] = ++kept->count;
    return kept->count - 1;
}
