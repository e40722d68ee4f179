/* Open addressing with linear probing. A slot keeps half of the hash beside the id, so that a probe reads the string
 * itself only when it almost surely matches, and growing reads no string at all. */
#include "intern.h"

#include <stdlib.h>
#include <string.h>

#include "hash.h"

struct intern_slot {
    uint32_t hash;
    uint32_t id_plus_1; /* 0: free */
};

void intern_init(struct intern *intern)
{
    *intern = (struct intern){ 0 };
}

void intern_free(struct intern *intern)
{
    arena_free(&intern->arena);
    free(intern->strings);
    free(intern->slots);
    intern_init(intern);
}

/* The slot that holds these bytes, or the free one where they belong. */
static struct intern_slot *slot_for(const struct intern *intern, uint64_t hash, const void *bytes, size_t length)
{
    size_t mask = intern->slot_count - 1;
    for (size_t i = (uint32_t)hash & mask;; i = (i + 1) & mask) {
        struct intern_slot *slot = &intern->slots[i];
        if (!slot->id_plus_1)
            return slot;
        if (slot->hash != (uint32_t)hash)
            continue;
        const struct intern_string *string = &intern->strings[slot->id_plus_1 - 1];
        if (string->length == length && (!length || !memcmp(string->bytes, bytes, length)))
            return slot;
    }
}

static int grow_slots(struct intern *intern)
{
    size_t count = intern->slot_count ? intern->slot_count * 2 : 64;
    struct intern_slot *slots = calloc(count, sizeof *slots);
    if (!slots)
        return -1;
    for (size_t old = 0; old < intern->slot_count; old++) {
        if (!intern->slots[old].id_plus_1)
            continue;
        size_t i = intern->slots[old].hash & (count - 1);
        while (slots[i].id_plus_1)
            i = (i + 1) & (count - 1);
        slots[i] = intern->slots[old];
    }
    free(intern->slots);
    intern->slots = slots;
    intern->slot_count = count;
    return 0;
}

static int grow_strings(struct intern *intern)
{
    size_t capacity = intern->capacity ? intern->capacity * 2 : 64;
    struct intern_string *strings = realloc(intern->strings, capacity * sizeof *strings);
    if (!strings)
        return -1;
    intern->strings = strings;
    intern->capacity = capacity;
    return 0;
}

static int64_t add(struct intern *intern, const void *bytes, size_t length, int borrow)
{
    if (intern->count * 3 >= intern->slot_count * 2 && grow_slots(intern))
        return -1;
    uint64_t hash = hash_bytes(bytes, length);
    struct intern_slot *slot = slot_for(intern, hash, bytes, length);
    if (slot->id_plus_1)
        return slot->id_plus_1 - 1;
    if (intern->count == UINT32_MAX - 1 || (intern->count == intern->capacity && grow_strings(intern)))
        return -1;
    const char *kept = borrow ? bytes : arena_copy(&intern->arena, bytes, length);
    if (!kept)
        return -1;
    intern->strings[intern->count] = (struct intern_string){ kept, length };
    *slot = (struct intern_slot){ (uint32_t)hash, (uint32_t)intern->count + 1 };
    return (int64_t)intern->count++;
}

int64_t intern_add(struct intern *intern, const void *bytes, size_t length)
{
    return add(intern, bytes, length, 0);
}

int64_t intern_add_borrowed(struct intern *intern, const char *bytes, size_t length)
{
    return add(intern, bytes, length, 1);
}

int64_t intern_find(const struct intern *intern, const void *bytes, size_t length)
{
    if (!intern->slot_count)
        return -1;
    struct intern_slot *slot = slot_for(intern, hash_bytes(bytes, length), bytes, length);
    return (int64_t)slot->id_plus_1 - 1;
}
