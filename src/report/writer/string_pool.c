/* See string_pool.h. New ids are in the order of the young generation's strings, among which are those that moved
 * there from the old one. */
#include "string_pool.h"
#include "base/array.h"

#include <stdlib.h>

static void generation_free(struct string_pool_generation *generation)
{
    intern_free(&generation->strings);
    free(generation->ids);
    *generation = (struct string_pool_generation){ 0 };
}

void string_pool_free(struct string_pool *pool)
{
    generation_free(&pool->young);
    generation_free(&pool->old);
}

int64_t string_pool_add(struct string_pool *pool, const void *bytes, size_t length)
{
    struct string_pool_generation *young = &pool->young;
    size_t before = young->strings.count;
    int64_t index = -1;
    if (array_reserve(&young->ids, &young->capacity, before + 1, sizeof *young->ids) == 0)
        index = intern_add(&young->strings, bytes, length);
    if (index < 0)
        return -1;
    if ((size_t)index < before)
        return young->ids[index];
    int64_t known = intern_find(&pool->old.strings, bytes, length);
    young->ids[index] = known >= 0 ? pool->old.ids[known] : pool->next_id++;
    return young->ids[index];
}

size_t string_pool_pending(const struct string_pool *pool)
{
    return (size_t)(pool->next_id - pool->next_to_take);
}

int64_t string_pool_take(struct string_pool *pool, struct intern_string *to, size_t count)
{
    int64_t first = pool->next_to_take;
    for (size_t taken = 0; taken < count; pool->looked_at++)
        if (pool->young.ids[pool->looked_at] >= first)
            to[taken++] = pool->young.strings.strings[pool->looked_at];
    pool->next_to_take += (int64_t)count;
    return first;
}

size_t string_pool_bytes(const struct string_pool *pool)
{
    const struct string_pool_generation *young = &pool->young;
    return young->strings.arena.total + young->strings.capacity * sizeof *young->strings.strings +
           young->strings.index.slot_count * sizeof *young->strings.index.slots + young->capacity * sizeof *young->ids;
}

void string_pool_forget(struct string_pool *pool)
{
    generation_free(&pool->old);
    pool->old = pool->young;
    pool->young = (struct string_pool_generation){ 0 };
    pool->looked_at = 0;
}

const struct intern_string *string_pool_find(const struct string_pool *pool, int64_t id)
{
    for (size_t i = 0; i < pool->young.strings.count; i++)
        if (pool->young.ids[i] == id)
            return &pool->young.strings.strings[i];
    return NULL;
}
