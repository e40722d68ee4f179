/* What libtacho-heap.so, which interposes malloc() and its like, and the agent say to each other. Both come from the
 * same build.
 *
 * The hooks keep a countdown of bytes for each thread: an allocation that does not use it up costs a subtraction. A
 * block that is freed was recorded only if the filter may hold its address. All else is the agent's. */
#ifndef TACHO_AGENT_HEAP_HEAP_CALLS_H
#define TACHO_AGENT_HEAP_HEAP_CALLS_H

#include <stddef.h>
#include <stdint.h>

/* Counts the recorded blocks whose addresses have the same index; HEAP_FILTER_FULL stays. */
#define HEAP_FILTER_BITS 14
#define HEAP_FILTER_BYTES (1u << HEAP_FILTER_BITS)
#define HEAP_FILTER_FULL 255u

/* Blocks are aligned to 16 bytes at least, and large ones lie at the beginning of a page. */
static inline uint32_t heap_filter_index(uintptr_t address)
{
    return (uint32_t)(address >> 4 ^ address >> (4 + HEAP_FILTER_BITS)) & (HEAP_FILTER_BYTES - 1);
}

/* Who answers malloc() when the hooks ask for the next one. */
enum heap_allocator {
    HEAP_OF_LIBC,
    HEAP_OF_LIBRARY,   /* jemalloc and its like, linked in as a library */
    HEAP_OF_OPERATORS, /* such a library, which also has C++'s operators and does not call malloc() for them */
    HEAP_OF_SANITIZER, /* it looks at the stack of each call: left alone */
    HEAP_BEFORE_HOOKS, /* the program, or a library that was preloaded before: nobody calls the hooks */
};

/* The hooks' part. */
struct heap_object {
    uint32_t size;
    enum heap_allocator allocator;
    _Atomic uint8_t *filter;       /* HEAP_FILTER_BYTES; written by the agent alone */
    void (*objects_changed)(void); /* the program has loaded objects */
};

/* The agent's part. Each may be called at any moment, in signal handlers too, but not by another of them. They may
 * change errno. */
struct heap_calls {
    /* A block was allocated for which the thread's countdown was not larger than its size. Returns the new countdown.
     */
    uint64_t (*allocated)(const void *block, size_t bytes, uint64_t countdown);
    /* A block is about to be freed or to be moved: its number if it was recorded, else 0. Whoever took a number must
     * give it to one of the two below. The countdown is the thread's. */
    uint64_t (*take)(const void *block);
    void (*freed)(uint64_t number, uint64_t countdown);
    void (*put_back)(const void *block, uint64_t number); /* it was not freed after all */
};

/* NULL: this process is not recorded, or its heap is not. The agent keeps the address of the object. */
const struct heap_calls *tacho_agent_heap(const struct heap_object *object);

#endif
