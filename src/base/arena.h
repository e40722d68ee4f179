/* An arena: memory that is allocated piece by piece and freed all at once.
 *
 * Use it for data that lives as long as its owner (a report, a table). An arena is not thread-safe. */
#ifndef TACHO_BASE_ARENA_H
#define TACHO_BASE_ARENA_H

#include <stddef.h>

struct arena_block;

struct arena {
    struct arena_block *blocks; /* the current one first */
    size_t total;               /* bytes taken from the system */
};

/* {0} is a valid empty arena. */
void arena_init(struct arena *arena);
void arena_free(struct arena *arena);

/* Aligned for any type, not cleared; NULL when memory is short. Freed with the arena only. */
void *arena_alloc(struct arena *arena, size_t size);
void *arena_alloc_zero(struct arena *arena, size_t size);

/* A copy with a NUL behind it that length does not count. */
char *arena_copy(struct arena *arena, const void *bytes, size_t length);

#endif
