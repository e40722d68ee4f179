/* Interned keys. Figures come from a counting sort, which puts the numbers of a group side by side, so that its median
 * is computed in place. */
#include "keys.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "base/hash.h"

static uint32_t keys_hash_key(const int64_t *key, size_t width)
{
    uint64_t hash = 0;

    for (size_t i = 0; i < width; i++)
        hash = hash_number(hash * UINT64_C(0xff51afd7ed558ccd) + (uint64_t)key[i] + i);
    return (uint32_t)(hash ^ hash >> 32);
}

/* Keys are short: a call of memcmp costs more than the comparison. */
static int keys_is_key(const struct keys *keys, uint32_t number, const int64_t *key)
{
    const int64_t *other = keys_get(keys, number);

    for (size_t i = 0; i < keys->width; i++)
        if (other[i] != key[i])
            return 0;
    return 1;
}

static uint32_t keys_find_slot(const struct keys *keys, uint32_t hash, const int64_t *key)
{
    const struct hash_index *index = &keys->index;

    for (struct hash_entry *found = hash_index_find(index, hash); found; found = hash_index_find_next(index, found))
        if (keys_is_key(keys, (uint32_t)hash_entry_number(found), key))
            return (uint32_t)hash_entry_number(found);
    return NO_KEY;
}

uint32_t keys_add(struct keys *keys, const int64_t *key)
{
    uint32_t hash = keys_hash_key(key, keys->width), number = keys_find_slot(keys, hash, key);

    if (number != NO_KEY)
        return number;
    if (keys->count == HASH_INDEX_MAX || hash_index_reserve(&keys->index, keys->count + 1) != 0 ||
        array_reserve(&keys->list, &keys->room, (keys->count + 1) * keys->width, sizeof *keys->list) != 0)
        return NO_KEY;
    memcpy(keys->list + keys->count * keys->width, key, keys->width * sizeof *key);
    hash_index_add(&keys->index, &(struct hash_entry){ hash, (uint32_t)++keys->count });
    return (uint32_t)keys->count - 1;
}

uint32_t keys_find(const struct keys *keys, const int64_t *key)
{
    return keys_find_slot(keys, keys_hash_key(key, keys->width), key);
}

void keys_free(struct keys *keys)
{
    free(keys->list);
    hash_index_free(&keys->index);
    *keys = (struct keys){ .width = keys->width };
}

int keys_summarize(struct keys_figures *out, size_t group_count, const uint32_t *group, const int64_t *values,
                   size_t count)
{
    int64_t *sorted = array_alloc((count + 1) * 2, sizeof *sorted); /* and as much again as scratch space for medians */
    size_t *next = calloc(group_count + 1, sizeof *next);           /* place in sorted of a group's next number */

    if (!sorted || !next) {
        free(sorted);
        free(next);
        return ERR_NO_MEMORY;
    }
    memset(out, 0, group_count * sizeof *out);
    for (size_t i = 0; i < count; i++)
        if (group[i] != NO_KEY)
            statistics_add(&out[group[i]].figures, values[i]);
    for (size_t g = 0; g < group_count; g++)
        next[g + 1] = next[g] + out[g].figures.count;
    for (size_t i = 0; i < count; i++)
        if (group[i] != NO_KEY)
            sorted[next[group[i]]++] = values[i];
    for (size_t g = 0, first = 0; g < group_count; g++) {
        out[g].median = statistics_median_of(sorted + first, out[g].figures.count, sorted + count);
        first += out[g].figures.count;
    }
    free(sorted);
    free(next);
    return 0;
}
