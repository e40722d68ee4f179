/* The free lists of chunks and thread slots: lock-free stacks of indices inside the arena.
 *
 * The agent's threads pop. The collector pushes, and so does the agent for a slot that it could not use. A head is
 * { tag : 32, index : 32 } in one 64-bit word; every successful pop changes the tag, so a head that went away and came
 * back (ABA) makes the compare-and-swap fail. A link (next_free) is written before the release CAS that publishes it
 * and read after the acquire load of the head; it may be stale by the time of the CAS, which then fails.
 * Items that were never used are handed out by counting up, so that a fresh arena touches no page it does not need.
 * The program can overwrite the indices, so an index that is out of range ends the list. */
#ifndef TACHO_WIRE_WIRE_CHUNKS_H
#define TACHO_WIRE_WIRE_CHUNKS_H

#include "wire.h"

#define WIRE_LIST_EMPTY ((uint64_t)WIRE_NONE)

/* Returns the address of an item's link. */
typedef _Atomic uint32_t *wire_link_function(void *context, uint32_t index);

/* Takes an index below count from the list, or WIRE_NONE. */
static inline uint32_t wire_list_pop_free_linked(_Atomic uint64_t *list, uint32_t count, wire_link_function *link,
                                                 void *context)
{
    uint64_t head = atomic_load_explicit(list, memory_order_acquire);
    while ((uint32_t)head < count) {
        uint32_t next = atomic_load_explicit(link(context, (uint32_t)head), memory_order_relaxed);
        uint64_t wanted = ((head >> 32) + 1) << 32 | next;
        if (atomic_compare_exchange_weak_explicit(list, &head, wanted, memory_order_acquire, memory_order_acquire))
            return (uint32_t)head;
    }
    return WIRE_NONE;
}

/* Takes an index below count from the list, else the next unused one, else WIRE_NONE. */
static inline uint32_t wire_list_pop_linked(_Atomic uint64_t *list, _Atomic uint32_t *taken, uint32_t count,
                                            wire_link_function *link, void *context)
{
    uint32_t free = wire_list_pop_free_linked(list, count, link, context);
    if (free != WIRE_NONE)
        return free;
    uint32_t fresh = atomic_load_explicit(taken, memory_order_relaxed);
    while (fresh < count)
        if (atomic_compare_exchange_weak_explicit(taken, &fresh, fresh + 1, memory_order_relaxed, memory_order_relaxed))
            return fresh;
    return WIRE_NONE;
}

/* Items that lie back to back: link i is at first_link + i * stride. */
struct wire_row {
    _Atomic uint32_t *first_link;
    size_t stride;
};

static inline _Atomic uint32_t *wire_link_in_row(void *context, uint32_t index)
{
    const struct wire_row *row = (const struct wire_row *)context;
    return (_Atomic uint32_t *)((char *)row->first_link + (size_t)index * row->stride);
}

static inline uint32_t wire_list_pop(_Atomic uint64_t *list, _Atomic uint32_t *taken, uint32_t count,
                                     _Atomic uint32_t *first_link, size_t stride)
{
    struct wire_row row = { first_link, stride };
    return wire_list_pop_linked(list, taken, count, wire_link_in_row, &row);
}

/* For the collector, which pops free items to give their pages back to the kernel. It must not take items that were
 * never used: they may lie where the agent has mapped nothing, and must not come onto the list. */
static inline uint32_t wire_list_pop_free(_Atomic uint64_t *list, uint32_t count, _Atomic uint32_t *first_link,
                                          size_t stride)
{
    struct wire_row row = { first_link, stride };
    return wire_list_pop_free_linked(list, count, wire_link_in_row, &row);
}

static inline void wire_list_push(_Atomic uint64_t *list, uint32_t index, _Atomic uint32_t *first_link, size_t stride)
{
    struct wire_row row = { first_link, stride };
    uint64_t head = atomic_load_explicit(list, memory_order_relaxed);
    do {
        atomic_store_explicit(wire_link_in_row(&row, index), (uint32_t)head, memory_order_relaxed);
    } while (!atomic_compare_exchange_weak_explicit(list, &head, (head & ~(uint64_t)UINT32_MAX) | index,
                                                    memory_order_release, memory_order_relaxed));
}

/* For a side that has mapped the whole arena. The agent has not, so it takes items through agent/core/arena_window.h.
 * The lists of chunks for events and for notes each count from 0; everywhere else the index of a chunk counts all of
 * them, notes first. */
static inline uint32_t wire_take_chunk(struct wire_header *arena)
{
    uint32_t index = wire_list_pop(&arena->free_chunks, &arena->chunks_taken, arena->chunk_count,
                                   &wire_chunks(arena)[WIRE_NOTE_CHUNKS].next_free, sizeof(struct wire_chunk));
    return index == WIRE_NONE ? WIRE_NONE : WIRE_NOTE_CHUNKS + index;
}
static inline uint32_t wire_take_note_chunk(struct wire_header *arena)
{
    return wire_list_pop(&arena->free_note_chunks, &arena->note_chunks_taken, WIRE_NOTE_CHUNKS,
                         &wire_chunks(arena)->next_free, sizeof(struct wire_chunk));
}
static inline void wire_free_chunk(struct wire_header *arena, uint32_t index)
{
    struct wire_chunk *notes = wire_chunks(arena), *events = notes + WIRE_NOTE_CHUNKS;
    if (index < WIRE_NOTE_CHUNKS)
        wire_list_push(&arena->free_note_chunks, index, &notes->next_free, sizeof *notes);
    else
        wire_list_push(&arena->free_chunks, index - WIRE_NOTE_CHUNKS, &events->next_free, sizeof *events);
}
static inline uint32_t wire_take_thread(struct wire_header *arena)
{
    return wire_list_pop(&arena->free_threads, &arena->threads_taken, WIRE_THREAD_SLOTS,
                         &wire_threads(arena)->next_free, sizeof(struct wire_thread));
}
static inline void wire_free_thread(struct wire_header *arena, uint32_t index)
{
    wire_list_push(&arena->free_threads, index, &wire_threads(arena)->next_free, sizeof(struct wire_thread));
}

#endif
