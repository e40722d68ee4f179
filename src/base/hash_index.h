/* Finds items of an array by their hash. The caller owns the array, computes hashes and compares items: it tries all
 * items with the same hash in turn. Half of the hash lies beside the number of the item, so that a search reads an item
 * only when it almost surely matches, and growing reads no item at all.
 *
 *     struct hash_entry *found = hash_index_find(&index, hash);
 *     while (found && !is_same(&items[hash_entry_number(found)], key))
 *         found = hash_index_find_next(&index, found); */
#ifndef TACHO_BASE_HASH_INDEX_H
#define TACHO_BASE_HASH_INDEX_H

#include "map.h"

struct hash_entry {
    uint32_t hash;
    uint32_t number_plus_1;
};

enum { HASH_INDEX_MAX = UINT32_MAX - 1 }; /* the most items */

static inline uint32_t hash_index_as_it_is(uint32_t hash)
{
    return hash;
}

MAP(hash_index, struct hash_entry, uint32_t, hash, number_plus_1, hash_index_as_it_is, map_is_same_number)

static inline size_t hash_entry_number(const struct hash_entry *entry)
{
    return entry->number_plus_1 - 1u;
}

#endif
