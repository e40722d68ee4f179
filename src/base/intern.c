/* Strings by id in one array, and a hash index to find them: see intern.h. */
#include "intern.h"

#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "hash.h"

void intern_init(struct intern *intern)
{
    *intern = (struct intern){ 0 };
}

void intern_free(struct intern *intern)
{
    arena_free(&intern->arena);
    free(intern->strings);
    hash_index_free(&intern->index);
    intern_init(intern);
}

static int64_t intern_find_bytes(const struct intern *intern, uint32_t hash, const void *bytes, size_t length)
{
    const struct hash_index *index = &intern->index;
    for (struct hash_entry *found = hash_index_find(index, hash); found; found = hash_index_find_next(index, found)) {
        const struct intern_string *string = &intern->strings[hash_entry_number(found)];
        if (string->length == length && (!length || !memcmp(string->bytes, bytes, length)))
            return (int64_t)hash_entry_number(found);
    }
    return -1;
}

static int64_t intern_add_bytes(struct intern *intern, const void *bytes, size_t length, int borrow)
{
    uint32_t hash = (uint32_t)hash_bytes(bytes, length);
    int64_t id = intern_find_bytes(intern, hash, bytes, length);
    if (id >= 0)
        return id;
    if (array_reserve_up_to(&intern->strings, &intern->capacity, intern->count + 1, HASH_INDEX_MAX,
                            sizeof *intern->strings) != 0 ||
        hash_index_reserve(&intern->index, intern->count + 1) != 0)
        return -1;
    const char *kept = borrow ? bytes : arena_copy(&intern->arena, bytes, length);
    if (!kept)
        return -1;
    intern->strings[intern->count++] = (struct intern_string){ kept, length };
    hash_index_add(&intern->index, &(struct hash_entry){ hash, (uint32_t)intern->count });
    return (int64_t)intern->count - 1;
}

int64_t intern_add(struct intern *intern, const void *bytes, size_t length)
{
    return intern_add_bytes(intern, bytes, length, 0);
}

int64_t intern_add_borrowed(struct intern *intern, const char *bytes, size_t length)
{
    return intern_add_bytes(intern, bytes, length, 1);
}

int64_t intern_find(const struct intern *intern, const void *bytes, size_t length)
{
    return intern_find_bytes(intern, (uint32_t)hash_bytes(bytes, length), bytes, length);
}
