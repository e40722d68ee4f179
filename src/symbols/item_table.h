/* Items that are stored once and identified by small numbers: frames, and plans for leaving a frame. */
#ifndef TACHO_SYMBOLS_ITEM_TABLE_H
#define TACHO_SYMBOLS_ITEM_TABLE_H

#include <stddef.h>
#include <stdint.h>

#include "base/hash_index.h"

/* Two items are equal if their first key_bytes are. Their numbers count from 0. */
struct item_table {
    unsigned char *items; /* owned */
    size_t item_bytes, key_bytes, room;
    uint32_t count;
    struct hash_index index;
};

#define ITEM_TABLE_FULL UINT32_MAX

void item_table_init(struct item_table *table, size_t item_bytes, size_t key_bytes);
void item_table_free(struct item_table *table);

/* Returns the number of the item that is equal to this one, and adds a copy of it if there is none. Returns
 * ITEM_TABLE_FULL when memory is short. */
uint32_t item_table_add(struct item_table *table, const void *item);

static inline void *item_table_item(const struct item_table *table, uint32_t number)
{
    return table->items + (size_t)number * table->item_bytes;
}

#endif
