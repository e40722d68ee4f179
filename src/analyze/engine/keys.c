/* Interned keys, and figures by counting sort: the numbers of a group come to lie together, so that its median is found
 * where they are. */
#include "keys.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/hash.h"

static uint64_t hash_key(const int64_t *key, size_t width)
{
    uint64_t hash = 0;

    for (size_t i = 0; i < width; i++)
        hash = hash_number(hash * UINT64_C(0xff51afd7ed558ccd) + (uint64_t)key[i] + i);
    return hash ^ hash >> 32;
}

/* Keys are short: a call of memcmp costs more than the comparison. */
static int is_key(const struct keys *keys, uint32_t number, const int64_t *key)
{
    const int64_t *other = keys_get(keys, number);

    for (size_t i = 0; i < keys->width; i++)
        if (other[i] != key[i])
            return 0;
    return 1;
}

static int grow_slots(struct keys *keys)
{
    size_t slot_count = keys->slot_count ? keys->slot_count * 2 : 256;
    uint32_t *slots = malloc(slot_count * sizeof *slots);

    if (!slots)
        return ERR_NO_MEMORY;
    memset(slots, 0xff, slot_count * sizeof *slots);
    for (uint32_t i = 0; i < keys->count; i++) {
        size_t at = hash_key(keys_get(keys, i), keys->width) & (slot_count - 1);
        while (slots[at] != NO_KEY)
            at = (at + 1) & (slot_count - 1);
        slots[at] = i;
    }
    free(keys->slots);
    keys->slots = slots;
    keys->slot_count = slot_count;
    return 0;
}

static int make_room(struct keys *keys)
{
    if (keys->count == keys->capacity) {
        size_t capacity = keys->capacity ? keys->capacity * 2 : 64;
        if (capacity >= NO_KEY)
            return ERR_NO_MEMORY;
        int64_t *list = realloc(keys->list, capacity * keys->width * sizeof *list);
        if (!list)
            return ERR_NO_MEMORY;
        keys->list = list;
        keys->capacity = capacity;
    }
    return (keys->count + 1) * 2 > keys->slot_count ? grow_slots(keys) : 0;
}

uint32_t keys_add(struct keys *keys, const int64_t *key)
{
    if (make_room(keys) != 0)
        return NO_KEY;
    size_t at = hash_key(key, keys->width) & (keys->slot_count - 1);
    for (; keys->slots[at] != NO_KEY; at = (at + 1) & (keys->slot_count - 1))
        if (is_key(keys, keys->slots[at], key))
            return keys->slots[at];
    memcpy(keys->list + keys->count * keys->width, key, keys->width * sizeof *key);
    keys->slots[at] = (uint32_t)keys->count;
    return (uint32_t)keys->count++;
}

uint32_t keys_find(const struct keys *keys, const int64_t *key)
{
    if (!keys->slot_count)
        return NO_KEY;
    size_t at = hash_key(key, keys->width) & (keys->slot_count - 1);
    while (keys->slots[at] != NO_KEY && !is_key(keys, keys->slots[at], key))
        at = (at + 1) & (keys->slot_count - 1);
    return keys->slots[at];
}

void keys_free(struct keys *keys)
{
    free(keys->list);
    free(keys->slots);
    *keys = (struct keys){ .width = keys->width };
}

int keys_summarize(struct key_figures *out, size_t group_count, const uint32_t *group, const int64_t *values,
                   size_t count)
{
    int64_t *sorted = malloc((count + 1) * 2 * sizeof *sorted); /* and as much again to look for medians in */
    size_t *next = calloc(group_count + 1, sizeof *next);       /* where in sorted a group's next number goes */

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
