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
};
WIRE_TYPES_END_AT(HEAP, WIRE_HEAP_FREED);

struct wire_heap_shared {
    /* Mean distance of sampled blocks, in allocated bytes: at the beginning of a thread, and the largest. Both 0: all
     * are recorded. */
    _Alignas(64) uint64_t rate_bytes;
    uint64_t most_rate_bytes;
    uint32_t stack_bytes; /* of stack to copy for a backtrace, at most; 0: none */
};
WIRE_SHARED(HEAP, struct wire_heap_shared, wire_heap)

#endif
