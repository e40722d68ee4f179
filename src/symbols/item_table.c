/* An array that grows, and an index by the items' hashes: see item_table.h. Keys are compared as plain bytes, so
 * structs must have no holes in them. */
#include "item_table.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"

#define COUNT_MAX (UINT32_C(1) << 30)

void item_table_init(struct item_table *table, size_t item_bytes, size_t key_bytes)
{
    *table = (struct item_table){ .item_bytes = item_bytes, .key_bytes = key_bytes };
}

void item_table_free(struct item_table *table)
{
    free(table->items);
    hash_index_free(&table->index);
    item_table_init(table, table->item_bytes, table->key_bytes);
}

uint32_t item_table_add(struct item_table *table, const void *item)
{
    const struct hash_entry added = { (uint32_t)hash_bytes(item, table->key_bytes), table->count + 1 },
                            *known = hash_index_find(&table->index, added.hash);
    for (; known; known = hash_index_find_next(&table->index, known))
        if (memcmp(item_table_item(table, known->number_plus_1 - 1), item, table->key_bytes) == 0)
            return known->number_plus_1 - 1;
    if (array_reserve_up_to(&table->items, &table->room, table->count + (size_t)1, COUNT_MAX, table->item_bytes) != 0 ||
        !hash_index_add(&table->index, &added))
        return ITEM_TABLE_FULL;
    memcpy(item_table_item(table, table->count), item, table->item_bytes);
    return table->count++;
}
