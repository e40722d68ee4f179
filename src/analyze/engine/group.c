/* Group-by with one hash table for each worker. A median needs all numbers, so they are stored in pieces that double in
 * size: a key with one number costs little, and a key with a million numbers has few pieces. */
#include "group.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/array.h"

enum { FIRST_PIECE = 2, LARGEST_PIECE = 16 * 1024, FIRST_SLOTS = 256 };

/* The groups of one worker. On a cache line of its own, as workers write to it all the time. */
struct group_part {
    struct group *groups;
    size_t count, capacity;
    uint32_t *slots; /* 1 + index of a group, 0: free; a power of two of them, at most half full */
    size_t slot_count;
    struct arena pieces;
} __attribute__((aligned(128)));

struct groups {
    int workers;
    int64_t *scratch;
    struct group_part *parts; /* one for each worker, and one that they are merged into */
};

struct groups *groups_new(int workers)
{
    struct groups *groups = calloc(1, sizeof *groups);
    size_t size = (size_t)(workers + 1) * sizeof(struct group_part);

    if (!groups)
        return NULL;
    groups->workers = workers;
    groups->parts = aligned_alloc(_Alignof(struct group_part), size);
    if (!groups->parts) {
        free(groups);
        return NULL;
    }
    memset(groups->parts, 0, size);
    return groups;
}

void groups_delete(struct groups *groups)
{
    if (!groups)
        return;
    for (int i = 0; i <= groups->workers; i++) {
        struct group_part *part = &groups->parts[i];
        arena_free(&part->pieces);
        free(part->groups);
        free(part->slots);
    }
    free(groups->parts);
    free(groups->scratch);
    free(groups);
}

/* The products do not wait for each other, unlike a chain of mixing steps. */
static inline uint64_t group_hash_key(const struct group_key *key)
{
    uint64_t sum = (uint64_t)key->part[0] * 0x9e3779b97f4a7c15u + (uint64_t)key->part[1] * 0xc2b2ae3d27d4eb4fu +
                   (uint64_t)key->part[2] * 0x165667b19e3779f9u + (uint64_t)key->part[3] * 0xff51afd7ed558ccdu;

    return sum ^ sum >> 32;
}

static inline int same_key(const struct group_key *a, const struct group_key *b)
{
    return a->part[0] == b->part[0] && a->part[1] == b->part[1] && a->part[2] == b->part[2] && a->part[3] == b->part[3];
}

static int grow_slots(struct group_part *part)
{
    size_t slot_count = part->slot_count ? part->slot_count * 2 : FIRST_SLOTS;
    uint32_t *slots = calloc(slot_count, sizeof *slots);

    if (!slots)
        return ERR_NO_MEMORY;
    for (size_t i = 0; i < part->count; i++) {
        size_t at = part->groups[i].hash & (slot_count - 1);
        while (slots[at])
            at = (at + 1) & (slot_count - 1);
        slots[at] = (uint32_t)i + 1;
    }
    free(part->slots);
    part->slots = slots;
    part->slot_count = slot_count;
    return 0;
}

/* Room for one more group, so that adding it cannot fail half-way. */
static int group_make_room(struct group_part *part)
{
    if (array_reserve_up_to(&part->groups, &part->capacity, part->count + 1, UINT32_MAX - 1, sizeof *part->groups) != 0)
        return ERR_NO_MEMORY;
    return (part->count + 1) * 2 > part->slot_count ? grow_slots(part) : 0;
}

/* Adds a group for a new key; NULL when memory is short. Out of line, since the copy of the key
 * would slow down group_find_group(), which only reads it. */
static __attribute__((noinline)) struct group *group_add_group(struct group_part *part, const struct group_key *key,
                                                               uint64_t hash)
{
    if (group_make_room(part) != 0)
        return NULL;
    size_t at = hash & (part->slot_count - 1);
    while (part->slots[at])
        at = (at + 1) & (part->slot_count - 1);
    struct group *group = &part->groups[part->count++];
    part->slots[at] = (uint32_t)part->count;
    *group = (struct group){ .key = *key, .hash = hash };
    return group;
}

/* The group of a key, made if there is none; NULL when memory is short. */
static inline struct group *group_find_group(struct group_part *part, const struct group_key *key)
{
    uint64_t hash = group_hash_key(key);

    if (!part->slot_count)
        return group_add_group(part, key, hash);
    for (size_t at = hash & (part->slot_count - 1); part->slots[at]; at = (at + 1) & (part->slot_count - 1)) {
        struct group *group = &part->groups[part->slots[at] - 1];
        if (same_key(&group->key, key))
            return group;
    }
    return group_add_group(part, key, hash);
}

static int group_add_piece(struct group_part *part, struct group *group)
{
    uint32_t capacity = group->pieces ? group->pieces->capacity * 2 : FIRST_PIECE;

    if (capacity > LARGEST_PIECE)
        capacity = LARGEST_PIECE;
    struct statistics_piece *piece = arena_alloc(&part->pieces, sizeof *piece + capacity * sizeof piece->values[0]);
    if (!piece)
        return ERR_NO_MEMORY;
    if (group->pieces)
        group->pieces->used = group->pieces->capacity;
    piece->next = group->pieces;
    piece->used = 0;
    piece->capacity = capacity;
    group->pieces = piece;
    group->next = piece->values;
    group->end = piece->values + capacity;
    return 0;
}

int groups_add(struct groups *groups, int worker, const struct group_key *key, int64_t value)
{
    struct group_part *part = &groups->parts[worker];
    struct group *group = group_find_group(part, key);

    if (!group)
        return ERR_NO_MEMORY;
    if (group->next == group->end && group_add_piece(part, group) != 0)
        return ERR_NO_MEMORY;
    *group->next++ = value;
    statistics_add(&group->figures, value);
    return 0;
}

static int group_join(struct group_part *part, const struct group_key *key, const struct group *from)
{
    struct group *group = group_find_group(part, key);

    if (!group)
        return ERR_NO_MEMORY;
    statistics_merge(&group->figures, &from->figures);
    if (!from->pieces)
        return 0;
    if (from->next)
        from->pieces->used = (uint32_t)(from->next - from->pieces->values);
    struct statistics_piece *last = from->pieces;
    while (last->next)
        last = last->next;
    last->next = group->pieces;
    group->pieces = from->pieces;
    return 0;
}

static int group_merge(struct groups *groups, void (*map)(void *context, struct group_key *key), void *context)
{
    struct group_part *merged = &groups->parts[groups->workers];

    for (int i = 0; i < groups->workers; i++)
        for (size_t j = 0; j < groups->parts[i].count; j++) {
            struct group_key key = groups->parts[i].groups[j].key;
            if (map)
                map(context, &key);
            if (group_join(merged, &key, &groups->parts[i].groups[j]) != 0)
                return ERR_NO_MEMORY;
        }
    return 0;
}

static int find_medians(struct groups *groups, struct group_part *merged)
{
    uint64_t largest = 1;

    for (size_t i = 0; i < merged->count; i++)
        if (merged->groups[i].figures.count > largest)
            largest = merged->groups[i].figures.count;
    groups->scratch = malloc(largest * sizeof *groups->scratch);
    if (!groups->scratch)
        return ERR_NO_MEMORY;
    for (size_t i = 0; i < merged->count; i++) {
        struct group *group = &merged->groups[i];
        group->median = statistics_median(group->pieces, group->figures.count, group->figures.min, group->figures.max,
                                          groups->scratch);
    }
    return 0;
}

int groups_finish(struct groups *groups, void (*map)(void *context, struct group_key *key), void *context,
                  struct group **out, size_t *count, struct error *err)
{
    struct group_part *merged = &groups->parts[groups->workers];

    if (group_merge(groups, map, context) != 0 || find_medians(groups, merged) != 0)
        return error_short_memory(err, "to group the events");
    *out = merged->groups;
    *count = merged->count;
    return 0;
}
