/* A bump allocator over blocks that double in size. A request that is too large for the current block gets a block
 * of its own, behind the current one, so that the space left in the current block is not wasted. */
#include "arena.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_BLOCK ((size_t)4096)
#define LARGEST_BLOCK ((size_t)1 << 20)

struct arena_block {
    struct arena_block *next;
    size_t used, size;
    _Alignas(16) char bytes[];
};

void arena_init(struct arena *arena)
{
    *arena = (struct arena){ 0 };
}

void arena_free(struct arena *arena)
{
    for (struct arena_block *block = arena->blocks; block;) {
        struct arena_block *next = block->next;
        free(block);
        block = next;
    }
    arena_init(arena);
}

static struct arena_block *arena_block_new(struct arena *arena, size_t size)
{
    if (size > SIZE_MAX - sizeof(struct arena_block))
        return NULL;
    struct arena_block *block = malloc(sizeof *block + size);
    if (!block)
        return NULL;
    *block = (struct arena_block){ .size = size };
    arena->total += size;
    return block;
}

void *arena_alloc(struct arena *arena, size_t size)
{
    if (size > SIZE_MAX - 15)
        return NULL;
    size = (size + 15) & ~(size_t)15;
    struct arena_block *current = arena->blocks;
    if (current && size <= current->size - current->used) {
        void *piece = current->bytes + current->used;
        current->used += size;
        return piece;
    }
    size_t wanted = arena->total < FIRST_BLOCK     ? FIRST_BLOCK
                    : arena->total < LARGEST_BLOCK ? arena->total
                                                   : LARGEST_BLOCK;
    struct arena_block *block = arena_block_new(arena, size > wanted / 2 ? size : wanted);
    if (!block)
        return NULL;
    block->used = size;
    if (current && size > wanted / 2) {
        block->next = current->next;
        current->next = block;
    } else {
        block->next = current;
        arena->blocks = block;
    }
    return block->bytes;
}

void *arena_alloc_zero(struct arena *arena, size_t size)
{
    void *piece = arena_alloc(arena, size);
    return piece ? memset(piece, 0, size) : NULL;
}

char *arena_copy(struct arena *arena, const void *bytes, size_t length)
{
    if (length == SIZE_MAX)
        return NULL;
    char *copy = arena_alloc(arena, length + 1);
    if (!copy)
        return NULL;
    if (length)
        memcpy(copy, bytes, length);
    copy[length] = 0;
    return copy;
}
