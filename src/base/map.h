/* Hash maps: entries of one type, found by one of their members.
 *
 *     struct symbol { uint64_t address; const char *name; };
 *     MAP(symbol_map, struct symbol, uint64_t, address, name, hash_number, map_is_same_number)
 *
 * defines struct symbol_map, {0} being an empty map, and the functions below.
 *
 *     key           the member that entries are found by, of type key_type
 *     used          a member that is not 0 in any entry: a slot where it is 0 is free. A key that is never 0 will do.
 *     hash(key)     a function; hash_number() for numbers
 *     is_same(a, b) a function that compares two keys; map_is_same_number() for numbers
 *
 * Open addressing with linear probing: a power of two of slots, at most half of them in use, hold the entries
 * themselves, so that a lookup mostly reads one cache line. Removal moves later entries back and leaves no tombstone.
 * All functions are inline, so that each map compiles to the code that one would write for it by hand.
 *
 *     entry *NAME_find(map, key)         Returns the entry with the key, or NULL.
 *     entry *NAME_find_next(map, entry)  Returns another entry with the same key, or NULL. The order is undefined.
 *     entry *NAME_add(map, &entry)       Adds a copy, even if the key exists, and returns it. Returns NULL when memory
 *                                        is short: then nothing has changed.
 *     void   NAME_remove(map, entry)
 *     entry *NAME_next(map, entry)       Iterates: returns the first entry for NULL, then each other entry once, then
 *                                        NULL. The order is undefined; nothing may be added or removed meanwhile.
 *     int    NAME_reserve(map, count)    Makes room for that many entries in all. Returns 0, or -1 when memory is
 *                                        short. A map allocates nothing while its entries fit into the room.
 *     void   NAME_clear(map)             Removes all entries and keeps the room.
 *     void   NAME_free(map)              Leaves an empty map.
 *
 * Adding and removing entries invalidates pointers to entries. A use that needs a maximum checks map.count before it
 * adds. */
#ifndef TACHO_BASE_MAP_H
#define TACHO_BASE_MAP_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "hash.h"

enum { MAP_FIRST_SLOTS = 64 };

static inline int map_is_same_number(uint64_t a, uint64_t b)
{
    return a == b;
}

#define MAP_FUNCTION static inline __attribute__((unused)) /* hardly any map needs them all */

#define MAP(name, entry, key_type, key, used, hash, is_same)                                                           \
    struct name {                                                                                                      \
        entry *slots; /* owned */                                                                                      \
        size_t count, slot_count;                                                                                      \
    };                                                                                                                 \
                                                                                                                       \
    MAP_FUNCTION size_t name##_home(const struct name *map, key_type wanted)                                           \
    {                                                                                                                  \
        return (size_t)hash(wanted) & (map->slot_count - 1);                                                           \
    }                                                                                                                  \
                                                                                                                       \
    MAP_FUNCTION size_t name##_behind(const struct name *map, size_t at)                                               \
    {                                                                                                                  \
        return (at + 1) & (map->slot_count - 1);                                                                       \
    }                                                                                                                  \
                                                                                                                       \
    MAP_FUNCTION entry *name##_find_from(const struct name *map, size_t at, key_type wanted)                           \
    {                                                                                                                  \
        for (; map->slots[at].used; at = name##_behind(map, at))                                                       \
            if (is_same(map->slots[at].key, wanted))                                                                   \
                return &map->slots[at];                                                                                \
        return NULL;                                                                                                   \
    }                                                                                                                  \
                                                                                                                       \
    MAP_FUNCTION entry *name##_find(const struct name *map, key_type wanted)                                           \
    {                                                                                                                  \
        return map->slot_count ? name##_find_from(map, name##_home(map, wanted), wanted) : NULL;                       \
    }                                                                                                                  \
                                                                                                                       \
    MAP_FUNCTION entry *name##_find_next(const struct name *map, const entry *found)                                   \
    {                                                                                                                  \
        return name##_find_from(map, name##_behind(map, (size_t)(found - map->slots)), found->key);                    \
    }                                                                                                                  \
                                                                                                                       \
    MAP_FUNCTION entry *name##_next(const struct name *map, const entry *before)                                       \
    {                                                                                                                  \
        for (size_t at = before ? (size_t)(before - map->slots) + 1 : 0; at < map->slot_count; at++)                   \
            if (map->slots[at].used)                                                                                   \
                return &map->slots[at];                                                                                \
        return NULL;                                                                                                   \
    }                                                                                                                  \
                                                                                                                       \
    MAP_FUNCTION entry *name##_place(struct name *map, const entry *added)                                             \
    {                                                                                                                  \
        size_t at = name##_home(map, added->key);                                                                      \
        while (map->slots[at].used)                                                                                    \
            at = name##_behind(map, at);                                                                               \
        map->slots[at] = *added;                                                                                       \
        map->count++;                                                                                                  \
        return &map->slots[at];                                                                                        \
    }                                                                                                                  \
                                                                                                                       \
    MAP_FUNCTION int name##_reserve(struct name *map, size_t wanted)                                                   \
    {                                                                                                                  \
        struct name grown = { .slot_count = map->slot_count ? map->slot_count : MAP_FIRST_SLOTS };                     \
        if (wanted <= map->slot_count / 2)                                                                             \
            return 0;                                                                                                  \
        while (grown.slot_count / 2 < wanted && grown.slot_count <= SIZE_MAX / 2)                                      \
            grown.slot_count *= 2;                                                                                     \
        if (grown.slot_count / 2 < wanted || !(grown.slots = calloc(grown.slot_count, sizeof *grown.slots)))           \
            return -1;                                                                                                 \
        for (const entry *kept = name##_next(map, NULL); kept; kept = name##_next(map, kept))                          \
            name##_place(&grown, kept);                                                                                \
        free(map->slots);                                                                                              \
        *map = grown;                                                                                                  \
        return 0;                                                                                                      \
    }                                                                                                                  \
                                                                                                                       \
    MAP_FUNCTION entry *name##_add(struct name *map, const entry *added)                                               \
    {                                                                                                                  \
        if (map->count >= map->slot_count / 2 && name##_reserve(map, map->count + 1) != 0)                             \
            return NULL;                                                                                               \
        return name##_place(map, added);                                                                               \
    }                                                                                                                  \
                                                                                                                       \
    MAP_FUNCTION void name##_remove(struct name *map, entry *removed)                                                  \
    {                                                                                                                  \
        size_t hole = (size_t)(removed - map->slots), mask = map->slot_count - 1;                                      \
        for (size_t at = name##_behind(map, hole); map->slots[at].used; at = name##_behind(map, at)) {                 \
            size_t home = name##_home(map, map->slots[at].key);                                                        \
            if (((at - home) & mask) >= ((at - hole) & mask)) { /* its search passes the hole */                       \
                map->slots[hole] = map->slots[at];                                                                     \
                hole = at;                                                                                             \
            }                                                                                                          \
        }                                                                                                              \
        map->slots[hole].used = 0;                                                                                     \
        map->count--;                                                                                                  \
    }                                                                                                                  \
                                                                                                                       \
    MAP_FUNCTION void name##_clear(struct name *map)                                                                   \
    {                                                                                                                  \
        if (map->count)                                                                                                \
            memset(map->slots, 0, map->slot_count * sizeof *map->slots);                                               \
        map->count = 0;                                                                                                \
    }                                                                                                                  \
                                                                                                                       \
    MAP_FUNCTION void name##_free(struct name *map)                                                                    \
    {                                                                                                                  \
        free(map->slots);                                                                                              \
        *map = (struct name){ 0 };                                                                                     \
    }

#endif
