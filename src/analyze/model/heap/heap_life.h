/* Blocks of the heap from their allocation to their end, and how many bytes of them were alive at each time.
 *
 *     struct heap_life heap = { 0 };
 *     int code = heap_life_read(&heap, report, filter, err);
 *     … heap.list, heap.changes, heap.peak_ns …
 *     heap_life_free(&heap);
 *
 * A sampled block stands for several of its size (heap_block.represents), so all sums are estimates; they are exact if
 * all blocks were recorded. Processes add up: the peak is the time at which all of them together had most. */
#ifndef TACHO_ANALYZE_MODEL_HEAP_HEAP_LIFE_H
#define TACHO_ANALYZE_MODEL_HEAP_HEAP_LIFE_H

#include "analyze/model/filter.h"

#define HEAP_NEVER INT64_MAX

struct heap_block {
    int64_t start_ns, thread, bytes;
    int64_t freed_ns;      /* HEAP_NEVER: the program did not free it */
    int64_t end_ns;        /* it was freed, or its process ended; HEAP_NEVER: neither */
    double represents;     /* blocks of this size */
    int64_t chain, python; /* of TACHO_HEAP_CALLCHAINS and TACHO_PYTHON_CALLCHAINS; 0: none */
    int64_t thread_bytes;  /* that the thread had allocated before */
    int64_t number;        /* in its process */
    int is_temporary;      /* the thread freed it, and had allocated nothing meanwhile */
};

/* A block begins or ends. */
struct heap_change {
    int64_t time_ns;
    uint32_t block;
    uint32_t is_end;
};

/* Starts from {0}. */
struct heap_life {
    struct heap_block *list;     /* owned; by process, then by number, then by time */
    size_t count;
    struct heap_change *changes; /* owned; by time */
    size_t change_count;
    int64_t peak_ns;
    double peak_bytes, peak_blocks;
    size_t peak_recorded; /* blocks that were recorded and alive then */
};

/* Needs heap_life_free() after an error too. */
int heap_life_read(struct heap_life *heap, struct report *report, const struct filter *filter, struct error *err);
void heap_life_free(struct heap_life *heap);

static inline int heap_block_is_at(const struct heap_block *block, int64_t time_ns)
{
    return block->start_ns <= time_ns && time_ns < block->end_ns;
}
static inline double heap_block_weight(const struct heap_block *block)
{
    return (double)block->bytes * block->represents;
}

/* The bytes of one sample in allocated bytes; 0: all blocks were recorded. */
int heap_life_rate(int64_t *rate_bytes, struct report *report, struct error *err);

#endif
