/* Items that are stored once and identified by small numbers: stacks (a tree), frames, and plans for leaving a
 * frame. */
#ifndef TACHO_SYMBOLS_ITEM_TABLE_H
#define TACHO_SYMBOLS_ITEM_TABLE_H

#include <stddef.h>
#include <stdint.h>

/* An array of things that are equal if their first bytes are; numbers count from 0. */
struct item_table {
    unsigned char *items;
    size_t item_bytes, key_bytes;
    uint32_t count, capacity;
    uint32_t *slots; /* number + 1, or 0 */
    uint32_t slot_mask;
};

#define ITEM_TABLE_FULL UINT32_MAX

void item_table_init(struct item_table *kept, size_t item_bytes, size_t key_bytes);
void item_table_free(struct item_table *kept);

/* The number of an item whose key is equal to this one's; a copy of it is added if there is none.
 * ITEM_TABLE_FULL when memory is short. */
uint32_t item_table_add(struct item_table *kept, const void *item);

static inline void *item_table_item(const struct item_table *kept, uint32_t number)
{
    return kept->items + (size_t)number * kept->item_bytes;
}

#endif
