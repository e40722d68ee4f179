/* Records of the blocks that a program allocates and frees. */
#ifndef TACHO_WIRE_WIRE_HEAP_H
#define TACHO_WIRE_WIRE_HEAP_H

#include "wire.h"

#define WIRE_HEAP_FILE "libtacho-heap.so" /* beside the agent */

enum wire_heap_type {
    /* body: [number of the block in its process][bytes that were asked for][bytes that the thread had allocated
     * before][mean distance of samples; 0: every block is recorded] */
    WIRE_HEAP_ALLOCATED = WIRE_FIRST_HEAP,
    /* a: 1 if the thread that wrote the record is the one that freed the block, just then; body: [number of the
     * block][bytes that the thread had allocated before] */
    WIRE_HEAP_FREED,
    /* The stack of the next WIRE_HEAP_ALLOCATED, where every block is recorded: the part that differs from the last
     * such stack of the thread. body: [number of the Python stack, 0: none][bit mask of the known registers, by DWARF
     * number][their values, in that order][bytes after the words below that are those of the last stack, at the same
     * addresses][words of the stack, from the stack pointer upwards] */
    WIRE_HEAP_STACK,
};
WIRE_TYPES_END_AT(HEAP, WIRE_HEAP_STACK);

#define WIRE_HEAP_PAGE 4096u /* a copy of a stack ends at such a boundary, and may be longer than stack_bytes by that */
#define WIRE_HEAP_STACK_MOST (16384u + WIRE_HEAP_PAGE)

struct wire_heap_shared {
    /* Mean distance of sampled blocks, in allocated bytes: at the beginning of a thread, and the largest. Both 0: all
     * are recorded. */
    _Alignas(64) uint64_t rate_bytes;
    uint64_t most_rate_bytes;
    uint32_t stack_bytes; /* of stack to copy for a backtrace, at most; 0: none */
};
WIRE_SHARED(HEAP, struct wire_heap_shared, wire_heap)

#endif
