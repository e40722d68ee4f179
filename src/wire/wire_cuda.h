/* The part of the arena that CUPTI writes to: its buffers, and the texts that their records point to.
 *
 *     [descriptors of the buffers][buffers][texts]      behind the chunks; sparse, so what is not used costs nothing
 *
 * A buffer goes round: the agent takes it off the free list when CUPTI asks (LENT), CUPTI fills it and gives it back
 * (DELIVERED: bytes and number are set, and every text that its records point to stands in the texts, before the
 * release store of the state), the collector reads it, fills it with zeros and frees it. Only zeroed buffers are lent:
 * in one that CUPTI never gave back the records end where the zeros begin. Texts are only added. An entry is written,
 * then published by the release store of its first word; the reader stops at the first word that is zero. Names are
 * pointers into the program, so an entry says which pointer it was; the last entry of a pointer that lies before a
 * buffer's names_words is what its records mean by it. */
#ifndef TACHO_WIRE_WIRE_CUDA_H
#define TACHO_WIRE_WIRE_CUDA_H

#include "wire_chunks.h"

#define WIRE_CUDA_BUFFER_BYTES (1u << 20)
#define WIRE_CUDA_NAMES_BYTES (64u << 20)

enum wire_cuda_buffer_state { WIRE_CUDA_FREE, WIRE_CUDA_LENT, WIRE_CUDA_DELIVERED };

struct wire_cuda_buffer {
    _Atomic uint32_t state;
    _Atomic uint32_t next_free;
    uint32_t bytes;       /* of records; when delivered */
    uint32_t names_words; /* how far the texts reached, in 8-byte words, when it was delivered; 0: not told */
    uint64_t number;      /* wire_header.cuda_deliveries when it was delivered; until then the
                           * agent's, ticks when it was lent */
    _Alignas(64) char end[0];
};
_Static_assert(sizeof(struct wire_cuda_buffer) == 64, "descriptors are laid out back to back");

enum wire_cuda_name {
    WIRE_CUDA_NAME_POINTER = 1,  /* key: the pointer */
    WIRE_CUDA_NAME_RUNTIME,      /* key: the callback id of a runtime call */
    WIRE_CUDA_NAME_DRIVER,       /* the same of a driver call */
    WIRE_CUDA_NAME_RECORD_BYTES, /* key: kind << 32 | size, learned from a CUPTI that is
                                  * newer than our table; no text */
};

struct wire_cuda_text {
    _Atomic uint32_t words; /* of the whole entry; 0: not published yet */
    uint32_t what;          /* enum wire_cuda_name */
    uint64_t key;
    char text[];            /* padded with zeros, at least one */
};

/* In whole pages, of any size. */
static inline uint64_t wire_cuda_descriptor_bytes(uint32_t buffer_count)
{
    return ((uint64_t)buffer_count * sizeof(struct wire_cuda_buffer) + 65535) / 65536 * 65536;
}
static inline uint64_t wire_cuda_names_offset(uint32_t chunk_count, uint32_t buffer_count)
{
    return wire_chunks_end(chunk_count) + wire_cuda_descriptor_bytes(buffer_count) +
           (uint64_t)buffer_count * WIRE_CUDA_BUFFER_BYTES;
}
static inline struct wire_cuda_buffer *wire_cuda_buffers(struct wire_header *arena, uint32_t chunk_count)
{
    return (struct wire_cuda_buffer *)((char *)arena + wire_chunks_end(chunk_count));
}
static inline char *wire_cuda_names(struct wire_header *arena, uint32_t chunk_count, uint32_t buffer_count)
{
    return (char *)arena + wire_cuda_names_offset(chunk_count, buffer_count);
}
static inline unsigned char *wire_cuda_bytes(struct wire_header *arena, uint32_t chunk_count, uint32_t buffer_count,
                                             uint32_t index)
{
    return (unsigned char *)arena + wire_chunks_end(chunk_count) + wire_cuda_descriptor_bytes(buffer_count) +
           (uint64_t)index * WIRE_CUDA_BUFFER_BYTES;
}

/* The whole arena; buffer_count 0 when CUDA is not traced. */
static inline uint64_t wire_arena_bytes(uint32_t chunk_count, uint32_t buffer_count)
{
    return wire_cuda_names_offset(chunk_count, buffer_count) + (buffer_count ? WIRE_CUDA_NAMES_BYTES : 0);
}

/* CUPTI wants nanoseconds: ticks times a factor that is fixed for the arena, so that the collector's map from ticks to
 * time holds for these too (src/collect/sources/cuda/cuda_clock.h). */
static inline uint64_t wire_cuda_time(uint64_t ticks, uint64_t ns_per_tick)
{
    return (uint64_t)((unsigned __int128)ticks * ns_per_tick >> WIRE_SCALE_SHIFT);
}

#endif
